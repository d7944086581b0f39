import { expect, it } from "vitest";
import { TestRun } from "../../../test/fakes";
import { goldenBatch } from "../../../test/golden";
import { pulse } from "./pulse";

it("tells how fast events came in each stretch of the run", () => {
  const { store } = new TestRun();
  store.apply(goldenBatch("large"));
  const { speed, bad } = pulse(store, 10);
  expect([...speed].every((perSecond) => Math.abs(perSecond - 10_000) < 20)).toBe(true);
  expect(bad.size).toBe(0);
});

it("marks the stretches with values that are not finite", () => {
  const { store } = new TestRun();
  store.apply(goldenBatch("nonfinite"));
  expect([...pulse(store, 6).bad].sort()).toEqual([1, 2, 3]);
});

it("counts from the oldest event that is kept", () => {
  const { store } = new TestRun();
  store.apply(goldenBatch("dropped"));
  expect(pulse(store, 4).speed).toHaveLength(4);
});
