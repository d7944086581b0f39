import { expect, it } from "vitest";
import { TestRun } from "../../test/fakes";
import { goldenArray } from "../../test/golden";

const slice = (event: number) => ({ event, value: 0, index: [1], image: false });

it("one slice is requested at a time, and then the latest wanted one", () => {
  const run = new TestRun();
  const { arrays } = run.store;
  for (let event = 0; event < 100; event++) expect(arrays.get(slice(event))).toBeUndefined();
  expect(run.asked).toEqual(["array 0/0 [1]"]);
  run.answerSlice(goldenArray("array", { event: 0 }));
  expect(run.asked).toEqual(["array 0/0 [1]", "array 99/0 [1]"]);
  run.answerSlice("This event is gone.");
  expect(run.asked).toHaveLength(2);
  expect(arrays.get(slice(0))).toMatchObject({ event: 0, rows: 4 });
  expect(arrays.get(slice(99))).toBe("This event is gone.");
  expect(run.asked).toHaveLength(2);
});

it("a slice is requested again when the kernel is back", () => {
  const run = new TestRun();
  run.store.arrays.get(slice(1));
  run.store.lose();
  run.store.arrays.get(slice(1));
  expect(run.asked).toHaveLength(2);
});
