"""Test that the mutations of `python -m tests.mutations` can still be applied."""

from __future__ import annotations

import ast

import pytest

from tests.mutations import MUTATIONS, ROOT, text_with


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.file)
def test_the_text_of_a_mutation_is_there_once_and_its_tests_too(mutation):
    ast.parse(text_with(mutation))
    assert (ROOT / "tests" / mutation.tests).is_file()
