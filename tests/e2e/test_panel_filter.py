"""Test the filter of prints: nothing moves while the user types, and unknown terms are reported."""

from __future__ import annotations

import pytest

from tests.e2e.browser import DRAWN, boxes_at_rest
from tests.e2e.test_panel_harness import Harness, dev_server, harness

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page


@pytest.mark.parametrize("width", [320, 400, 528, 640, 828, 1280])
def test_filtering_does_not_move_the_parts_of_the_panel(harness: Harness, width: int):
    """Tools, lists and the remaining lines keep their positions."""
    harness.page.set_viewport_size({"width": width + 36, "height": 640})
    panel = harness.open(state="done", rate=5000, seconds=4, watch=2)
    field, find = panel.get_by_test_id("filter"), panel.get_by_test_id("find")
    lists = [f"[data-testid=stream-{kind}]{part}" for kind in ("ordered", "unordered") for part in ("", " > h4 + *")]
    parts = [panel.locator(part) for part in (".tab-bar", ".search", "#body", *lists)]
    panel.locator(".row").first.wait_for()

    def places() -> list[tuple[float, float]]:
        return [(box["y"], box["height"]) for box in boxes_at_rest(harness.page, *parts)]

    still = places()
    for text in ("l", "loss", "loss step:10-20", "loss foo:3", "/gra(d/", "lane:3 la"):
        field.fill(text)
        harness.page.evaluate(DRAWN)
        assert places() == still, text
    field.press("Enter")
    assert places() == still, "chips"
    field.press("Tab")
    assert places() == still, "the field is left"
    find.fill("acc")
    find.press("Enter")
    assert places() == still, "found"


def test_what_is_typed_can_be_read_while_lines_are_searched(harness: Harness):
    harness.page.set_viewport_size({"width": 1024, "height": 640})
    panel = harness.open(state="done", rate=25_000, seconds=4)
    panel.get_by_test_id("tab-streams").click()
    field, menu, hint = panel.get_by_test_id("filter"), panel.get_by_test_id("export"), panel.locator(".hint")
    with_room = field.evaluate("field => field.clientWidth")
    field.fill("zzz")
    hint.wait_for()
    typed, after = field.bounding_box(), menu.bounding_box()
    assert typed is not None
    assert after is not None
    assert min(with_room, 100) <= typed["width"]
    assert typed["x"] + typed["width"] <= after["x"], "the field is below the menu"
