import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { click, find, showTab, texts } from "../../../test/screen";

describe("the calls", () => {
  it("are a table in which failures stand out", () => {
    showTab("calls", goldenBatch("nonfinite"));
    expect(texts("thead th")[0]).toBe("call");
    expect(texts("tbody tr.failed td.error")).toEqual(["FloatingPointError: nan in g"]);
  });

  it("choose whose life is shown", () => {
    const { ui } = showTab("calls", goldenBatch("small"));
    expect(texts("tbody tr:not(.traced) td")).toEqual([
      "1",
      "drained",
      "0.21 s",
      "40 ms",
      "0.83 s",
      "0.52 s",
      "drained 50 ms",
      "5",
    ]);
    click("tbody button");
    expect(ui.call.value).toBe(1);
  });

  it("show what Python's print wrote while tracing, below the call", () => {
    showTab("calls", goldenBatch("small"));
    expect(texts("tr.traced")).toEqual(["traced: train.py:12 in step: <x> Traced (traced: its first call here)"]);
  });

  it("say why they are empty", () => {
    showTab("calls", goldenBatch("empty"));
    expect(find(".empty").textContent).toContain("No call in this run");
  });
});
