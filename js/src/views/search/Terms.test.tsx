import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { all, click, find, press, showTab, texts, type } from "../../../test/screen";

const FIELD = "[data-testid=filter]";
const offered = () => all(".filter-term").map((one) => one.dataset.term);
const chips = () => texts("[data-testid=filter-chip]");

function typing(text: string) {
  const shown = showTab("streams", goldenBatch("small"));
  act(() => {
    find(FIELD).dispatchEvent(new FocusEvent("focusin", { bubbles: true }));
  });
  type(FIELD, text);
  return shown;
}

describe("the filter", () => {
  it("offers the terms that apply to this run, while the user types", () => {
    showTab("streams", goldenBatch("small"));
    expect(offered()).toEqual([]);
    typing("");
    expect(offered()).toContain("name:");
    expect(offered()).not.toContain("lane:");
  });

  it("completes a name by the keyboard, which becomes a chip", () => {
    const { ui } = typing("na");
    expect(offered()[0]).toBe("name:");
    press(FIELD, "ArrowDown");
    press(FIELD, "Enter");
    expect(ui.filter.value).toBe("name:");
    expect(offered()).toEqual(["name:loss", "name:x"]);
    type(FIELD, "name:lo");
    press(FIELD, "ArrowUp");
    press(FIELD, "Tab");
    expect([chips(), (find(FIELD) as HTMLInputElement).value]).toEqual([["name: loss ×"], ""]);
    expect(texts("[data-testid=stream-unordered] .row")).toEqual([]);
    press(FIELD, "Backspace");
    expect([chips(), ui.filter.value]).toEqual([[], "name:loss"]);
  });

  it("completes a name that is typed without its field, and removes a chip on a click", () => {
    const { ui } = typing("2.5 los");
    click("[data-term='name:loss']");
    expect(ui.filter.value).toBe("2.5 name:loss ");
    click("[data-testid=filter-chip]");
    expect(ui.filter.value.trim()).toBe("2.5");
  });

  it("offers ranges of steps", () => {
    typing("-step:12");
    expect(offered().slice(0, 3)).toEqual(["-step:12", "-step:12-", "-step:-12"]);
  });

  it("says in the columns why no line is shown", () => {
    typing("/[unclosed/");
    expect(offered()).toEqual([]);
    press(FIELD, "Escape");
    expect(texts("[data-testid^=stream-] .empty")).toEqual(
      [1, 2].map(() => "No line matches. /[unclosed/ is not a regular expression."),
    );
    expect(find("[data-testid=filter-terms] p").textContent).toBe("/[unclosed/ is not a regular expression.");
  });

  it("reports an unknown term at once", () => {
    typing("foo:3");
    expect(find("[data-testid=filter-terms] p").textContent).toMatch(/^There is no foo: to filter by/);
    press(FIELD, "Escape");
    expect(offered()).toEqual([]);
  });
});
