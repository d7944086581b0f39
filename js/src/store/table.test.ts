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

it("exports leave out gaps", () => {
  const { store } = new TestRun();
  store.apply(goldenBatch("dropped"));
  expect([...records(store, store.merged.positions)].map(({ event }) => event)).toEqual([1000, 1001]);
});

it("the copied Python code selects the events", () => {
  const last = (numbers: number[], oldest: number) => asPython("a1", numbers, oldest).split("\n").at(-1);
  expect(asPython("a1", [7], 0)).toBe('import jax_debug_widgets as jdw\n\nrun = jdw.find_run("a1")\nrun.events[7]');
  expect(last([7, 8, 9], 0)).toBe("run.events[7:10]");
  expect(last([7, 9], 0)).toBe("[run.events[i] for i in (7, 9)]");
  expect(last([7], 3)).toBe("next(event for event in run.events if event.seq == 7)");
  expect(last([7, 8], 3)).toBe("[event for event in run.events if event.seq in {7, 8}]");
});
