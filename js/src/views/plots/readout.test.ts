import { describe, expect, it } from "vitest";
import { Series } from "../../store/series";
import { NO_LOOPS } from "../../store/steps";
import type { EventColumns } from "../../transport/wire";
import { readoutOf } from "./readout";

/** Returns a series with one event a second, from each lane in turn. */
function seriesOf(values: readonly number[], lanes = 1): Series {
  const series = new Series(1, 0);
  const events = Object.fromEntries(
    ["device", "call", "execution", "step", "inner", "type"].map((name) => [name, values.map(() => -1)]),
  );
  const lane = values.map((_, i) => (lanes > 1 ? i % lanes : -1));
  const occurrence = values.map((_, i) => Math.floor(i / lanes));
  const columns = { ...events, lane, occurrence, time: occurrence } as unknown as EventColumns;
  for (const [row, y] of values.entries()) series.push({ events: columns }, row, 0, y, NO_LOOPS);
  return series;
}

describe("the heading of a chart", () => {
  it("shows the newest value, or that of the moment", () => {
    const series = seriesOf([1, 2, 3]);
    expect(readoutOf(series, null, "step")).toEqual({ low: 3, high: 3 });
    expect(readoutOf(series, 1, "step")).toEqual({ low: 2, high: 2 });
    expect(readoutOf(series, -1, "step")).toBeNull();
  });

  it("shows a value that was not finite", () => {
    const series = seriesOf([1, Number.NaN, 3]);
    expect(readoutOf(series, 1, "step")?.low).toBeNaN();
    expect(readoutOf(series, 2, "step")).toEqual({ low: 3, high: 3 });
  });

  it("shows the range of few lanes, and the drawn mean of many instead of the last lane", () => {
    expect(readoutOf(seriesOf([1, 5, 2, 8], 2), null, "step")).toEqual({ low: 2, high: 8 });
    const many = seriesOf([1, 2, 3, 4, 10, 20, 30, 40], 4);
    expect(readoutOf(many, null, "step")).toEqual({ low: 25, high: 25 });
    expect(readoutOf(many, 0, "step")).toEqual({ low: 2.5, high: 2.5 });
  });
});
