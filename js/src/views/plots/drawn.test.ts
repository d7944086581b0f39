import { describe, expect, it } from "vitest";
import { TestRun } from "../../../test/fakes";
import { goldenBatch } from "../../../test/golden";
import type { Series } from "../../store/series";
import { drawnOf, readingAt } from "./drawn";

function series(name: string, site: number): Series {
  const run = new TestRun();
  run.store.apply(goldenBatch(name));
  const found = run.store.series.ofSite(site);
  if (!found) throw new Error(`no series of site ${site}`);
  return found;
}

describe("what is drawn", () => {
  it("is the line, with marks where it is not finite", () => {
    const drawn = drawnOf(series("nonfinite", 3), false);
    expect(drawn.data).toEqual([
      [0, 4, 5],
      [1, 5e-324, -0],
    ]);
    expect(drawn.marks).toEqual([1, 2, 3]);
    expect([drawn.from, drawn.to]).toEqual([0, 5]);
  });

  it("leaves out what has no logarithm", () => {
    expect(drawnOf(series("nonfinite", 3), true).data[0]).toEqual([0, 4]);
  });

  it("puts lanes on one axis", () => {
    const drawn = drawnOf(series("lanes", 1), false);
    expect(drawn.data).toEqual([
      [0, 1],
      [0, 1.5],
      [0.5, 2],
      [1, 2.5],
    ]);
    expect(readingAt(drawn, 1)).toEqual({ x: 1, time: null, low: 1.5, high: 2.5 });
  });

  it("is at most 2000 points", () => {
    const drawn = drawnOf(series("large", 1), false);
    expect(drawn.data[0].length).toBeLessThanOrEqual(2000);
    expect([drawn.from, drawn.to]).toEqual([0, 4999]);
  });

  it("can be read with its time", () => {
    expect(readingAt(drawnOf(series("small", 1), false), 1)).toEqual({ x: 1, time: 1.7, low: 1.25, high: 1.25 });
    expect(readingAt(drawnOf(series("small", 1), false), 9)).toBeNull();
  });
});
