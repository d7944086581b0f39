import { expect, it } from "vitest";
import { logTicks, ticks } from "./ticks";

it("gives round numbers", () => {
  expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(-0.3, 0.31, 4)).toEqual([-0.2, 0, 0.2]);
  expect(ticks(3, 4.2, 8, 1)).toEqual([3, 4]);
  expect(ticks(1e300, 1.0000000000000002e300, 4).length).toBeLessThan(12);
});

it("gives powers of ten, or what there is between them", () => {
  expect(logTicks(0.05, 200, 5)).toEqual([0.1, 1, 10, 100]);
  expect(logTicks(0.2, 0.9, 4)).toEqual([0.2, 0.4, 0.6000000000000001, 0.8]);
});
