import { describe, expect, it } from "vitest";
import { scrollTo, sliceAt } from "./virtual";

describe("a slice", () => {
  it("holds the visible rows and a few more", () => {
    expect(sliceAt(1000, 20, 200, 2000)).toEqual({ height: 20_000, first: 94, end: 116, offset: 1880 });
  });

  it("stays within the list", () => {
    expect(sliceAt(3, 20, 200, 50)).toMatchObject({ height: 60, first: 0, end: 3, offset: 0 });
    expect(sliceAt(0, 20, 200, 0)).toMatchObject({ first: 0, end: 0 });
  });

  it("reaches both ends of a list higher than a browser allows", () => {
    const start = sliceAt(2_000_000, 20, 200, 0);
    const end = sliceAt(2_000_000, 20, 200, Number.MAX_SAFE_INTEGER);
    expect(start.first).toBe(0);
    expect(end.end).toBe(2_000_000);
    expect(end.offset + (end.end - end.first) * 20).toBeCloseTo(end.height);
    expect(end.end - end.first).toBeLessThan(30);
  });

  it("shows the row that was scrolled to", () => {
    for (const row of [0, 17, 999_999, 1_999_999]) {
      const { first, end } = sliceAt(2_000_000, 20, 200, scrollTo(row, 2_000_000, 20, 200));
      expect(row >= first && row < end).toBe(true);
    }
  });
});
