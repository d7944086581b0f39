import { expect, it } from "vitest";
import { TestRun } from "../../test/fakes";
import { goldenBatch } from "../../test/golden";

it("two events of one step and one loop are marked if they came in the other order", () => {
  const { store } = new TestRun();
  store.apply(goldenBatch("out_of_order"));
  expect([...Array(7).keys()].map((number) => store.order.mark(number) ?? "")).toEqual([
    "",
    "",
    "early",
    "late",
    "",
    "",
    "",
  ]);
  expect(store.order.inversions).toBe(1);
});

it("the order is checked for each call separately", () => {
  const { store } = new TestRun();
  const batch = goldenBatch("out_of_order");
  store.apply(batch);
  store.apply({ ...batch, first: 7, events: { ...batch.events, call: batch.events.call.map(() => 2) } });
  expect(store.order.inversions).toBe(2);
  expect(store.order.mark(10)).toBe("late");
});

it("no order is checked if the program is not known", () => {
  const { store } = new TestRun();
  const batch = goldenBatch("out_of_order");
  store.apply({ ...batch, sites: batch.sites.map((site) => ({ ...site, order: -1 })) });
  expect(store.order.inversions).toBe(0);
});
