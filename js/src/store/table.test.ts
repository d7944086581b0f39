import { expect, it } from "vitest";
import { TestRun } from "../../test/fakes";
import { goldenBatch } from "../../test/golden";
import { asPython, records, toCsv } from "./table";

it("writes events as CSV, with quotes where they are needed", () => {
  const { store } = new TestRun();
  store.apply(goldenBatch("small"));
  expect(toCsv(records(store, store.unordered.positions)).split("\r\n")).toEqual([
    "event,time,site,where,label,phase,ordered,lane,occurrence,step,device,call,text",
    '1,1.62,2,train.py:17,x,forward,false,,0,,,step,"x [1. 2.]\n  [3. 4.]"',
    "3,1.71,2,train.py:17,x,forward,false,,1,,,step,x [0. 0.]",
    "",
  ]);
});

it("leaves out gaps", () => {
  const { store } = new TestRun();
  store.apply(goldenBatch("dropped"));
  expect([...records(store, store.merged.positions)].map(({ event }) => event)).toEqual([1000, 1001]);
});

it("says how events are had in Python", () => {
  expect(asPython([7], 0)).toBe("run.events[7]");
  expect(asPython([7, 8, 9], 0)).toBe("run.events[7:10]");
  expect(asPython([7, 9], 0)).toBe("[run.events[i] for i in (7, 9)]");
  expect(asPython([7], 3)).toBe("next(event for event in run.events if event.seq == 7)");
  expect(asPython([7, 8], 3)).toBe("[event for event in run.events if event.seq in {7, 8}]");
});
