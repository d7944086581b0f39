import { expect, it } from "vitest";
import { value } from "./format";
import { logTicks, ticks, tickWords } from "./ticks";

it("ticks are round numbers", () => {
  expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(-0.3, 0.31, 4)).toEqual([-0.2, 0, 0.2]);
  expect(ticks(3, 4.2, 8, 1)).toEqual([3, 4]);
  expect(ticks(1e300, 1.0000000000000002e300, 4).length).toBeLessThan(12);
});

it("logarithmic ticks are powers of ten, or numbers between them", () => {
  expect(logTicks(0.05, 200, 5)).toEqual([0.1, 1, 10, 100]);
  expect(logTicks(0.2, 0.9, 4)).toEqual([0.2, 0.4, 0.6000000000000001, 0.8]);
});

it("labels of ticks have as many digits as distinguish them", () => {
  expect(tickWords([2, 2.5, 3], value)).toEqual(["2", "2.5", "3"]);
  expect(tickWords([2.7597, 2.75972, 2.75974], value)).toEqual(["2.75970", "2.75972", "2.75974"]);
  expect(tickWords([2.7596, 2.75965], value)).toEqual(["2.75960", "2.75965"]);
  expect(tickWords([3], value)).toEqual(["3"]);
});
