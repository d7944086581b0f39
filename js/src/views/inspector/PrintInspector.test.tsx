import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { goldenArray, goldenBatch } from "../../../test/golden";
import { all, choose, click, find, press, showTab, texts, type } from "../../../test/screen";
import type { ArraySlice, Batch } from "../../transport/wire";

/** A batch in which `x` is an array of two 4x6 matrices. */
function batch(shape = [2, 4, 6], dtype = "float32"): Batch {
  const small = goldenBatch("small");
  const changes = { shapes: [shape], dtypes: [dtype] };
  return { ...small, sites: small.sites.map((site) => (site.id === 2 ? { ...site, ...changes } : site)) };
}

/** Inspects the print of `x` and answers the request for its slice. */
function showSlice(answer: ArraySlice | string, shape?: number[], dtype?: string) {
  const shown = showTab("source", batch(shape, dtype));
  click("[data-of=x]");
  act(() => {
    shown.run.answerSlice(answer);
    shown.run.draw();
  });
  return shown;
}

const ANSWER = { version: 1, run: "run-1", id: 1 };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

import { hillsOf } from "../arrays/Ridge";

describe("an array that was printed", () => {
  it("is shown as last printed, with its statistics", () => {
    const { run } = showSlice(goldenArray("array", { event: 3, index: [0] }));
    expect(run.asked.filter((asked) => asked.startsWith("array"))).toEqual(["array 3/0 [0]"]);
    expect(find(".inspector-name").textContent).toBe("xfloat32[2,4,6]train.py:17");
    expect(find("[data-testid=slice-line]").textContent).toBe(
      "float32[2,4,6] min -6 · mean -0.3 · max 5.75 · std 3.4583 · 0 of 48 zero  1 nan  2 infinite · each pixel stands for 1 × 2",
    );
    expect(find("[data-testid=heat-map]").getAttribute("aria-label")).toContain("x, float32[2,4,6]: min -6");
    expect(texts(".colour-bar small")).toEqual(["6", "0", "-6"]);
  });

  it("is beside its line, and links to the print", () => {
    const { ui } = showSlice(goldenArray("array", { event: 3, index: [0] }));
    expect([ui.place.value?.line, ui.value.value, ui.part.value]).toEqual([17, 2, "2/0"]);
    expect(find("[data-testid=inspect] [data-testid=heat-map]").getAttribute("aria-label")).toContain(
      "x, float32[2,4,6]",
    );
    expect(texts("[data-testid=printed]")).toContain("print x ↗");
    click("[data-testid=print-lines]");
    expect([ui.tab.value, ui.site.value]).toEqual(["streams", 2]);
  });

  it("has its kind beside its line, once if it has no other name", () => {
    const nameless = batch();
    for (const site of nameless.sites)
      if (site.id === 2) Object.assign(site, { kind: "breakpoint", label: "breakpoint" });
    const { ui, run } = showTab("source", nameless);
    act(() => {
      ui.place.value = { file: "train.py", line: 17, index: 0 };
      run.draw();
    });
    expect(texts("[data-testid=printed]")).toContain("breakpoint ↗");
  });

  it("has no colour bar without a finite number", () => {
    const { stats } = goldenArray("array");
    showSlice(
      goldenArray("array", { event: 3, stats: { ...stats, nan: 48, min: null, max: null, mean: null, std: null } }),
    );
    expect(all(".colour-bar")).toHaveLength(0);
  });

  it("has one number at the colour bar if all finite elements are equal", () => {
    const { stats } = goldenArray("array");
    showSlice(goldenArray("array", { event: 3, stats: { ...stats, inf: 4, min: 0, max: 0, mean: 0, std: 0 } }));
    expect(texts(".colour-bar small")).toEqual(["0"]);
  });

  it("can be shown at another step and index", () => {
    const { run, ui } = showSlice(goldenArray("array", { event: 3, index: [0] }));
    act(() => {
      ui.moment.value = 1;
    });
    expect(run.asked.at(-1)).toBe("array 1/0 [0]");
    act(() => run.answerSlice(goldenArray("array", { event: 1, index: [0] })));
    type(".plane-axes + .slider input", "1");
    expect(run.asked.at(-1)).toBe("array 1/0 [1]");
  });

  it("shows any two axes, and a tile for each index of a third", () => {
    const { run } = showSlice(goldenArray("array", { event: 3, index: [0] }));
    choose("[data-testid=axis-tiles]", "0");
    act(() => run.answerSlice("over"));
    expect(run.asked.at(-1)).toBe("array 3/0 [] axes [1,2,0]");
    expect(find("[data-testid=values]").hasAttribute("disabled")).toBe(true);
    choose("[data-testid=axis-rows]", "0");
    act(() => run.answerSlice("over"));
    expect(run.asked.at(-1)).toBe("array 3/0 [] axes [0,2,1]");
    choose("[data-testid=axis-tiles]", "");
    act(() => run.answerSlice("over"));
    expect(run.asked.at(-1)).toBe("array 3/0 [0] axes [0,2]");
  });

  it("shows the element under the pointer", () => {
    showSlice(goldenArray("array", { event: 3 }));
    press("[data-testid=heat-map]", "ArrowRight");
    press("[data-testid=heat-map]", "ArrowRight");
    expect(find("[data-testid=slice-line]").textContent).toBe("[1, 0, 2] = 0.5");
  });

  it.each([
    ["bytes", [2, 3, 3], "uint8"],
    ["floats that the kernel says are colours", [9, 12, 3], "bfloat16"],
  ] as const)("are pictures where their last axis is one of colours: %s", (_, shape, dtype) => {
    showSlice(goldenArray("image", { event: 3 }), [...shape], dtype);
    expect(find(".axes [aria-pressed=true]").textContent).toBe("image");
    press("[data-testid=heat-map]", "ArrowRight");
    expect(find("[data-testid=slice-line]").textContent).toBe("[0, 0] = 0 0.058824 0.11765");
    expect(all(".colour-bar")).toHaveLength(0);
  });

  it.each([
    ["positions are numbers", [6, 5, 3], "float32", 1],
    ["integers are no colours: a tile for each", [9, 12, 3], "int32", 0],
    ["the kernel says that they are no colours: a tile for each", [9, 12, 3], "float32", 0],
  ] as const)("are slices where %s", (_, shape, dtype, sliders) => {
    showSlice(goldenArray("array", { event: 3 }), [...shape], dtype);
    expect(texts(".axes [aria-pressed]")).toEqual([]);
    expect(all(".axes .slider")).toHaveLength(sliders);
    expect(find(".slice-line").textContent).toContain("float32[2,4,6]");
  });

  it("says why there is no array", () => {
    showSlice("This event is no longer kept.");
    expect(find("p.slice").textContent).toBe("This event is no longer kept.");
  });

  it("shows its numbers page by page", () => {
    const { run } = showSlice(goldenArray("array", { event: 3, index: [0] }));
    click("[data-testid=values]");
    expect(run.asked.at(-1)).toContain('"event":3,"value":0,"index":[0],"row":0,"column":0');
    const page = { ...ANSWER, type: "values", row: 0, column: 0, rows: 4, columns: 6, page: [2, 3] } as const;
    act(() => run.answer({ ...page, page: [2, 3], text: ["1.5", "nan", "-inf", "0", "1", "2"] }));
    expect(texts("[data-testid=numbers] td")).toEqual(["1.5", "nan", "-inf", "0", "1", "2"]);
    expect(find("[aria-label='Rows before']").hasAttribute("disabled")).toBe(true);
    click("[aria-label='Next rows']");
    expect(run.asked.at(-1)).toContain('"row":2,"column":0');
    act(() => run.answer("This event is no longer kept."));
    expect(find(".full p").textContent).toBe("This event is no longer kept.");
  });

  it("is saved for NumPy, or says why not", () => {
    const { run } = showSlice(goldenArray("array", { event: 3 }));
    click("[data-testid=npy]");
    expect(run.asked.at(-1)).toBe('file {"type":"file","format":"npy","event":3,"value":0}');
    act(() => run.answer("too large"));
    expect(find(".full .bad-text").textContent).toBe("too large");
  });

  it("shows the distribution of its elements over the events", () => {
    const { run, ui } = showSlice(goldenArray("array", { event: 3 }));
    vi.advanceTimersByTime(1);
    expect(run.asked.at(-1)).toBe('histograms {"type":"histograms","site":2,"value":0}');
    const columns = { event: Uint32Array.of(1, 3), counts: Uint32Array.of(4, 0, 1, 3), odd: Uint32Array.of(0, 2) };
    act(() => run.answer({ ...ANSWER, type: "histograms", low: -1, high: 1, bins: 2, of: 2, ...columns }));
    expect(find("[data-testid=spread]").textContent).toContain("2 not finite");
    press("[data-testid=spread] [data-testid=heat-map]", "ArrowRight");
    expect(find("[data-testid=spread] output").textContent).toBe("line 1: 0 from 0 to 1");
    press("[data-testid=spread] [data-testid=heat-map]", "ArrowDown");
    expect(find("[data-testid=spread] output").textContent).toBe("line 1: 4 from -1 to 0");
    act(() => {
      find("[data-testid=spread] [data-testid=heat-map]").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    });
    expect(ui.moment.value).toBe(1);
    const [, ridge] = all(".spread-kinds .toggle");
    act(() => ridge?.click());
    expect(find("[data-testid=ridge]").dataset.hills).toBe("2");
    press("[data-testid=ridge]", "ArrowRight");
    expect(find("[data-testid=spread] output").textContent).toBe("line 3: 1 from -1 to 0");
    press("[data-testid=ridge]", "ArrowUp");
    expect(find("[data-testid=spread] output").textContent).toBe("line 1: 4 from -1 to 0");
  });

  it("has as many histograms in a ridge plot as fit, the newest in front", () => {
    expect(hillsOf(100, 18 + 7 * 23)).toHaveLength(20);
    expect(hillsOf(100, 18 + 7 * 23).at(-1)).toBe(99);
    expect(hillsOf(3, 400)).toEqual([0, 1, 2]);
    expect(hillsOf(1, 400)).toEqual([0]);
  });
});
