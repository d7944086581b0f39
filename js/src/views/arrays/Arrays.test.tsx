import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { goldenArray, goldenBatch } from "../../../test/golden";
import { all, find, press, showTab, texts, type } from "../../../test/screen";
import type { ArraySlice, Batch } from "../../transport/wire";

/** `x` is an array of two 4x6 matrices. */
function batch(shape = [2, 4, 6]): Batch {
  const small = goldenBatch("small");
  return { ...small, sites: small.sites.map((site) => (site.id === 2 ? { ...site, shapes: [shape] } : site)) };
}

function showSlice(answer: ArraySlice | string, shape?: number[]) {
  const shown = showTab("arrays", batch(shape));
  act(() => {
    shown.run.answerSlice(answer);
    shown.run.draw();
  });
  return shown;
}

describe("the arrays", () => {
  it("show the newest firing, and its statistics", () => {
    const { run } = showSlice(goldenArray("array", { event: 3, index: [0] }));
    expect(run.asked.filter((asked) => asked.startsWith("array"))).toEqual(["array 3/0 [0]"]);
    expect(texts("option")).toEqual(["x · train.py:17"]);
    expect(find("[data-testid=slice-line]").textContent).toBe(
      "float32[2,4,6] min -6 · mean -0.3 · max 5.75 · std 3.4583 · 0 of 48 zero  1 nan  2 inf · each pixel stands for 1 × 2",
    );
    expect(find("[data-testid=heat-map]").getAttribute("aria-label")).toContain("x, float32[2,4,6]: min -6");
    expect(texts(".colour-bar small")).toEqual(["6", "0", "-6"]);
  });

  it("go to another firing, and to another index", () => {
    const { run, ui } = showSlice(goldenArray("array", { event: 3, index: [0] }));
    type(".slider input", "0");
    expect(ui.moment.value).toBe(1);
    expect(run.asked.at(-1)).toBe("array 1/0 [0]");
    act(() => run.answerSlice(goldenArray("array", { event: 1, index: [0] })));
    type(".slider + .slider input", "1");
    expect(run.asked.at(-1)).toBe("array 1/0 [1]");
  });

  it("read out an element", () => {
    showSlice(goldenArray("array", { event: 3 }));
    press("[data-testid=heat-map]", "ArrowRight");
    press("[data-testid=heat-map]", "ArrowRight");
    expect(find("[data-testid=slice-line]").textContent).toBe("[1, 0, 2] = 0.5");
  });

  it("are pictures where the last axis is a colour", () => {
    showSlice(goldenArray("image", { event: 3 }), [2, 3, 3]);
    expect(find(".toggle[aria-pressed=true]").textContent).toBe("image");
    press("[data-testid=heat-map]", "ArrowRight");
    expect(find("[data-testid=slice-line]").textContent).toBe("[0, 0] = 0 0.058824 0.11765");
    expect(all(".colour-bar")).toHaveLength(0);
  });

  it("are slices where the kernel sends no pictures", () => {
    showSlice(goldenArray("array", { event: 3 }), [2, 3, 3]);
    expect(all(".toolbar .toggle")).toHaveLength(0);
    expect(all(".toolbar .slider")).toHaveLength(2);
  });

  it("say why there is no array", () => {
    showSlice("This event is no longer kept.");
    expect(find("p.slice").textContent).toBe("This event is no longer kept.");
    showTab("arrays", goldenBatch("lanes"));
    expect(find(".empty").textContent).toContain("No array in this run");
  });
});
