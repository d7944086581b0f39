"""Test text of the user's program: right-to-left scripts and colours."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import boxes_at_rest, shows
from tests.e2e.test_panel_harness import EVERYTHING, Harness, dev_server, harness

__all__ = ["dev_server", "harness"]  # the fixtures for tests of the harness page

HEBREW = {
    "loss": "\u05d4\u05e4\u05e1\u05d3",
    "logits": "\u05d4\u05d2\u05d9\u05d5\u05e0\u05d5",
    "baseline": "\u05d4\u05e8\u05d9\u05e6\u05d4 \u05d1",
    "train": "\u05d0\u05d9\u05de\u05d5\u05df",
    "n2": "\u05e0\u05d1",
}
RENAME = ",".join(f"{name}:{other}" for name, other in HEBREW.items())
VIEWS = ["overview", "source", "streams", "timeline", "calls", "findings", "runs"]

TURNED = """() => {
  const root = [...document.querySelectorAll('[data-jaxdebug-run] > *')].map((host) => host.shadowRoot).find(Boolean);
  const isTheirs = (word) => /[\u0590-\u05ff]/.test(word);
  const blockOf = (element) => {
    while (/^(inline|contents)$/.test(getComputedStyle(element).display)) element = element.parentElement;
    return element;
  };
  const lines = new Map();
  const texts = document.createTreeWalker(root.querySelector('.panel'), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    // Code and prints are the program's from end to end.
    if (node.parentElement.closest('svg, canvas, .unseen, code:not(.mono), pre, .line, .latest-text')) continue;
    const block = blockOf(node.parentElement);
    for (const { index, 0: word } of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getBoundingClientRect();
      if (box.width === 0) continue;
      if (!lines.has(block)) lines.set(block, []);
      lines.get(block).push({ word, box, isTheirs: isTheirs(word) });
    }
  }
  const turned = [];
  for (const words of lines.values())
    for (let i = 1; i < words.length; i++) {
      const [one, next] = [words[i - 1], words[i]];
      const isTurned = Math.abs(one.box.y - next.box.y) < 4 && next.box.left < one.box.left;
      if (isTurned && one.isTheirs !== next.isTheirs) turned.push(`${one.word} ${next.word}`);
    }
  return [...new Set(turned)];
}"""


@pytest.mark.parametrize("view", VIEWS)
def test_right_to_left_names_do_not_reorder_the_words_beside_them(harness: Harness, view: str):
    panel = harness.open(**EVERYTHING, tab=view, rename=RENAME)
    panel.get_by_text(HEBREW["train"]).first.wait_for()
    if view == "source":
        panel.locator(f"[data-name={HEBREW['logits']}]").click()
        panel.get_by_test_id("inspect").get_by_test_id("slice").wait_for()
    elif view == "streams":
        panel.get_by_test_id("stream-ordered").locator(".row").nth(3).click()
        panel.get_by_test_id("detail").wait_for()
    elif view == "runs":
        panel.get_by_role("checkbox").nth(1).check()
        panel.get_by_test_id("parted").wait_for()
    harness.lab_page.screenshot(f"bidi-{view}")
    shows(harness.page, lambda: harness.page.evaluate(TURNED), [])


def test_a_right_to_left_print_is_between_its_step_and_its_place(harness: Harness):
    panel = harness.open(state="done", rate=200, seconds=4, rename=RENAME)
    row = panel.get_by_test_id("stream-ordered").locator(".row", has_text=HEBREW["loss"]).first
    line = row.locator(".line")
    # The line runs from right to left: its number is left of its word.
    word, number = line.evaluate(
        """(line) => [[0, 4], [5, 8]].map(([from, to]) => {
          const range = document.createRange();
          range.setStart(line.firstChild, from);
          range.setEnd(line.firstChild, to);
          return range.getBoundingClientRect().x;
        })"""
    )
    assert number < word
    step, text, place = boxes_at_rest(harness.page, row.locator(".step"), line, row.locator(".where"))
    assert step["x"] + step["width"] <= text["x"] and text["x"] + text["width"] <= place["x"]


@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
def test_escape_codes_are_colours_in_prints_and_in_the_overview(harness: Harness, theme: str):
    panel = harness.open(state="done", rate=200, seconds=4.06, theme=theme)
    lines = [panel.get_by_test_id("stream-unordered").locator(".row", has_text="acc=").locator(".line")]
    lines += [panel.get_by_test_id("last-prints").locator(".latest-row", has_text="acc=").locator(".latest-text")]
    for tab, line in zip(("streams", "overview"), lines, strict=True):
        panel.get_by_test_id(f"tab-{tab}").click()
        expect(line.first).to_have_text(re.compile(r"^acc=[\d.]+  <b>bold\?</b>$"))
        word = line.first.locator(".ansi-green")
        expect(word).to_have_text("acc")
        colours = [one.evaluate("element => getComputedStyle(element).color") for one in (word, line.first)]
        assert colours[0] != colours[1]
