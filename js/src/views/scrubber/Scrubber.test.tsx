import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { change, find, showTab } from "../../../test/screen";

describe("beside the code", () => {
  const watched = goldenBatch("watch");

  it("the slider of steps grows with the run", () => {
    const { run } = showTab("source", watched);
    expect((find("[data-testid=step]") as HTMLInputElement).max).toBe("1");
    change(run, { ...watched, first: 6, sites: [] });
    expect((find("[data-testid=step]") as HTMLInputElement).max).toBe("3");
    expect(find("[data-testid=when]").textContent).toContain("4 of 4");
  });

  it("the red marks stand under the thumb at their steps", () => {
    showTab("source", watched);
    // The second of two steps: at the end.
    expect(find(".bad-steps path").getAttribute("d")).toBe("M399 0h1v1h-1z");
  });

  it("so does what is plotted over the steps", () => {
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
