"""Test which cases of a parametrized test run."""

from __future__ import annotations

from itertools import combinations, product

from tests.cases import covering

PRODUCT = [dict(zip("abc", case, strict=True)) for case in product(range(4), range(3), range(2))]


def combinations_of(cases, strength):
    return {part for case in cases for part in combinations(sorted(case.items()), strength)}


def test_each_pair_of_values_occurs_in_fewer_cases():
    kept = [PRODUCT[place] for place in covering(PRODUCT, 2)]
    assert combinations_of(kept, 2) == combinations_of(PRODUCT, 2)
    assert len(kept) <= 14


def test_each_value_occurs():
    kept = [PRODUCT[place] for place in covering(PRODUCT, 1)]
    assert combinations_of(kept, 1) == combinations_of(PRODUCT, 1)
    assert len(kept) == 4


def test_each_value_occurs_about_as_often_as_the_others():
    cases = [{"a": a, "b": b} for a, b in product(range(8), range(2))]
    kept = [cases[place] for place in covering(cases, 1, evenly=True)]
    assert [case["a"] for case in kept] == list(range(8))
    assert sum(case["b"] for case in kept) == 4


def test_cases_of_one_parameter_all_run():
    assert covering([{"a": number} for number in range(5)], 2) == [0, 1, 2, 3, 4]


def test_one_of_two_pairs_that_never_meet_is_not_lost():
    cases = [{"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 0, "b": 1}]
    assert covering(cases, 2) == [0, 1, 2]
