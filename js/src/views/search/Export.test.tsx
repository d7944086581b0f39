import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { find, press, showTab } from "../../../test/screen";

describe("the export menu", () => {
  const menu = () => find("[data-testid=export]") as HTMLDetailsElement;
  const open = () => {
    showTab("streams", goldenBatch("small"));
    act(() => {
      menu().open = true;
      menu().dispatchEvent(new Event("toggle"));
    });
    expect(menu().querySelector(".menu-list")).not.toBeNull();
  };

  it("closes with Escape, and the focus goes back", () => {
    open();
    press("[data-testid=export-csv]", "Escape");
    expect(menu().open).toBe(false);
  });

  it("closes on a click or text outside, and not inside", () => {
    open();
    const at = (selector: string, type: string) =>
      act(() => void find(selector).dispatchEvent(new Event(type, { bubbles: true })));
    at("[data-testid=export-csv]", "pointerdown");
    expect(menu().open).toBe(true);
    at("[data-testid=filter]", "focusin");
    expect(menu().open).toBe(false);
  });
});
