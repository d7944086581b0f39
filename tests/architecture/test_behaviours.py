"""Test that the table of behaviours agrees with the marks of the tests."""

from __future__ import annotations

from tests.behaviours import DOCUMENT, ROWS, document, marked_tests


def test_the_table_is_the_one_made_from_the_marks():
    assert DOCUMENT.read_text(encoding="utf-8") == document(marked_tests()), "run `python -m tests.behaviours`"


def test_every_mark_names_a_row():
    assert marked_tests().keys() <= ROWS.keys()


def test_a_mark_is_found_and_changes_the_table(tmp_path):
    (tmp_path / "test_x.py").write_text("@pytest.mark.behaviour('P2')\ndef test_y(): ...\n", encoding="utf-8")
    found = marked_tests(tmp_path)
    assert found == {"P2": ["test_x.py::test_y"]}
    assert "`test_x.py` (1)" in document(found)
    assert document(found) != document({})
