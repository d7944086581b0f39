"""Tests on another platform than the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_what_is_the_cpus_alone_is_left_out_there():
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "tests/taps/test_lanes.py"]
    environment = {**os.environ, "JDW_PLATFORM": "another"}
    told = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert "2 deselected" in told or "/2" in told, told
    assert "one_host_call" not in told
