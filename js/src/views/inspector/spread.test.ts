import { describe, expect, it } from "vitest";
import type { ArraySlice } from "../../transport/wire";
import { laneNames, lanesOf, ranked, spreadOf } from "./spread";

const slice = (rows: number, columns: number, numbers: number[]) =>
  ({ rows, columns, pixels: Float32Array.from(numbers) }) as unknown as ArraySlice;

describe("lanes", () => {
  it("are ranked by values that are not finite, then by their largest number, then by their order", () => {
    const statistics = [
      { min: -1, max: 2 },
      { min: -9, max: 1 },
      { nan: 1, min: 0, max: 0 },
      { posinf: 2 },
      { max: 2 },
    ];
    expect(ranked(statistics)).toEqual([3, 2, 1, 0, 4]);
    expect(ranked([{ value: 1 }, { value: Number.NaN }, { value: -3 }])).toEqual([1, 2, 0]);
  });

  it("have the statistics of their row, or their number", () => {
    const values = ["min", "max", "mean", "lanes"];
    expect(lanesOf(slice(2, 3, [1, 2, 1.5, 3, 4, 3.5]), values)).toEqual([
      { min: 1, max: 2, mean: 1.5 },
      { min: 3, max: 4, mean: 3.5 },
    ]);
    const nothing = lanesOf(slice(1, 3, [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]), values);
    expect(nothing).toEqual([{ min: Number.NaN, max: Number.NaN, mean: Number.NaN }]);
    expect(spreadOf(nothing)).toMatchObject({ range: "", mean: "", bad: "M0.5 0V1" });
    expect(lanesOf(slice(2, 1, [7, 8]), values)).toEqual([{ value: 7 }, { value: 8 }]);
  });

  it("are counted with the innermost varying first", () => {
    expect(laneNames([3], 2)).toEqual(["0", "1"]);
    expect(laneNames([2, 3], 6)).toEqual(["0, 0", "0, 1", "0, 2", "1, 0", "1, 1", "1, 2"]);
  });

  it("are drawn side by side, on one scale, and marked where they are not finite", () => {
    const lanes = [
      { min: 0, max: 2, mean: 1, nan: 0 },
      { min: 1, max: 4, mean: 3, nan: 2 },
    ];
    expect(spreadOf(lanes)).toEqual({
      range: "M0.5 0.970V0.500M1.5 0.735V0.030",
      mean: "M0.25 0.735h0.5M1.25 0.265h0.5",
      bad: "M1.5 0V1",
      words: "2 lanes, from 0 to 4, 1 not finite",
    });
    expect(spreadOf([{ value: Number.NaN }]).words).toBe("1 lanes, nothing finite, 1 not finite");
  });
});
