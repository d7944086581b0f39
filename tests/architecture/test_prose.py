"""Test that the check of the prose can fail."""

from __future__ import annotations

import pytest

from tests.prose import banned_in, prose_of


@pytest.mark.parametrize(
    ("text", "line"),
    [("Names of which some are free.", 0), ("# It is\n# told here.", 0), ("One.\nThe how manieth firing.", 1)],
)
def test_a_banned_form_is_found_at_its_line(text, line):
    assert [found[0] for found in banned_in(text)] == [line]


def test_plain_words_pass():
    assert list(banned_in("Number the executions of each site. Two values are told apart by their line.")) == []


def test_code_is_no_prose(tmp_path):
    source = tmp_path / "module.py"
    source.write_text('"""Docstring."""\nwhoever = 1  # comment\n')
    assert [text for _, text in prose_of(source)] == ['"""Docstring."""', "# comment"]
