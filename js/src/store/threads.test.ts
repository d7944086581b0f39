import { expect, it } from "vitest";
import { TestRun } from "../../test/fakes";
import { goldenBatch } from "../../test/golden";
import { Threads } from "./threads";

it("spans of threads are kept once, also if they are sent again", () => {
  const threads = new Threads();
  const batch = goldenBatch("threads");
  for (let i = 0; i < 2; i++) {
    expect(threads.append(batch)).toBe(true);
    expect(threads.length).toBe(4);
  }
  expect(threads.at(1)).toEqual({ site: 1, thread: 1, from: 0.75, to: 1 });
  expect(threads.waits().map(({ site, to }) => [site, to])).toEqual([
    [-2, 1.125],
    [-1, 1.5],
  ]);
  expect([...threads.busy].map((thread) => threads.nameOf(thread))).toEqual(["XLA 1", "XLA 2"]);
  expect(threads.endedBefore(1.05)).toBe(2);
});

it("all spans of threads are requested again if some were lost", () => {
  const run = new TestRun();
  run.store.apply(goldenBatch("threads"));
  run.store.apply(goldenBatch("threads", { first: 2, count: 0, first_span: 6 }));
  expect(run.asked).toEqual(["sync 2"]);
  run.store.apply(goldenBatch("threads"));
  expect(run.store.threads.length).toBe(4);
});
