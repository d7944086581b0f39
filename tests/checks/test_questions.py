"""Questions that people have asked about JAX in public are answered at the user's line."""

from __future__ import annotations

import pytest

from tests.checks.question_programs import QUESTIONS
from tests.checks.test_cases import is_found, run_case


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.id)
def test_a_public_question_is_answered_at_its_line(question):
    findings = run_case(question)
    assert is_found(question, findings), [one.message for one in findings]
