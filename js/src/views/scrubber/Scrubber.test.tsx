import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { change, find, showTab, type } from "../../../test/screen";

describe("without watched values", () => {
  it("the most frequent print gives the steps (the first lane of a vmap), marked red if not finite", () => {
    const { ui, run } = showTab("timeline", goldenBatch("nonfinite"));
    const { log, series } = run.store;
    expect(find("[data-testid=when]").textContent).toContain("6 of 6");
    const marks = find(".bad-steps path").getAttribute("d")?.match(/M/g) ?? [];
    expect([marks.length, series.bad.length]).toEqual([3, 3]);
    type("[data-testid=step]", "0");
    expect(ui.moment.value).toBe(log.number(0));
    expect((find("[data-testid=step]") as HTMLInputElement).value).toBe("0");
    showTab("timeline", goldenBatch("lanes"));
    expect(find("[data-testid=when]").textContent).toBe("call 1 · step 1 · 2 of 2");
  });
});

describe("beside the code", () => {
  const watched = goldenBatch("watch");

  it("the slider of steps grows with the run", () => {
    const { run } = showTab("source", watched);
    expect((find("[data-testid=step]") as HTMLInputElement).max).toBe("1");
    change(run, { ...watched, first: 6, sites: [] });
    expect((find("[data-testid=step]") as HTMLInputElement).max).toBe("3");
    expect(find("[data-testid=when]").textContent).toContain("4 of 4");
  });

  it("the red marks are under the thumb at their steps", () => {
    showTab("source", watched);
    // The mark of the second of two steps is at the end.
    expect(find(".bad-steps path").getAttribute("d")).toBe("M399 0h1v1h-1z");
  });

  it("the chart over the steps grows with the run", () => {
    const { run, ui } = showTab("source", watched);
    act(() => {
      ui.value.value = 1;
      run.draw();
    });
    const points = () => find("[data-testid=section-over-steps] [data-testid=plot]").dataset.points;
    expect(points()).toBe("2");
    change(run, { ...watched, first: 6, sites: [] });
    expect(points()).toBe("4");
  });
});
