import { expect, it } from "vitest";
import { goldenBatch } from "../../test/golden";
import type { CallMessage } from "../transport/wire";
import { barsOf, spansOf, totalsOf, type WaitSpan, waitsOf } from "./spans";
import { Threads } from "./threads";

const [CALL] = goldenBatch("small").calls as [CallMessage];
const { status } = goldenBatch("small");
const NEVER = { ready: null, drained: null };

function stages(call: CallMessage): string[] {
  return spansOf(call, 9).map(({ stage, from, to }) => `${stage} ${from.toFixed(2)}–${to.toFixed(2)}`);
}

it("the spans of a call are from tracing to the end of its effects", () => {
  expect(stages(CALL)).toEqual([
    "trace 0.50–0.71",
    "lower 0.71–0.75",
    "compile 0.75–1.58",
    "flight 1.58–2.10",
    "drain 2.10–2.15",
  ]);
  expect(stages({ ...CALL, drained: null }).at(-1)).toBe("drain 2.10–9.00");
  expect(stages({ ...CALL, ...NEVER }).at(-1)).toBe("flight 1.58–9.00");
  expect(stages({ ...CALL, ...NEVER, error: "no" }).at(-1)).toBe("flight 1.58–1.58");
  expect(stages({ ...CALL, ...NEVER, state: "tracing", dispatched: null, compile: null }).at(-1)).toBe(
    "lower 0.71–0.75",
  );
});

it("overlapping calls are in separate rows", () => {
  const calls = [0, 1, 5].map((started, id) => ({ ...CALL, id, started, trace: 0, lower: 0, compile: 0 }));
  const bars = barsOf(
    calls.map((call) => ({ ...call, ready: call.started + 3, drained: call.started + 3 })),
    9,
  );
  expect(bars.map(({ row }) => row)).toEqual([0, 1, 0]);
});

it("the waiting time of the barrier is a span, also while it waits", () => {
  expect(waitsOf(status, new Threads(), 9)).toEqual([{ from: 2.1, to: 2.15, what: "effects", thread: "" }]);
  const waits: [number, number | null][] = [
    [1, 2],
    [7, null],
  ];
  expect(waitsOf({ ...status, barrier: { ...status.barrier, waits } }, new Threads(), 9)[1]).toMatchObject({
    from: 7,
    to: 9,
  });
});

it("the time in a range is divided by activity, and counts simultaneous calls once", () => {
  const second = { ...CALL, id: 2, started: 1.58, trace: 0, lower: 0, compile: 0, ready: 2.6, drained: 2.6 };
  const waits: WaitSpan[] = [{ from: 2.0, to: 2.6, what: "outputs", thread: "main" }];
  const totals = (from: number, to: number) =>
    totalsOf(barsOf([CALL, { ...second, dispatched: 1.58 }], 9), waits, from, to).map(
      ({ what, seconds }) => `${what} ${seconds.toFixed(2)}`,
    );
  expect(totals(0, 3)).toEqual([
    "trace 0.21",
    "lower 0.04",
    "compile 0.83",
    "flight 1.02",
    "drain 0.05",
    "wait for outputs 0.60",
    "outside JAX 0.90",
  ]);
  expect(totals(0.6, 0.7)).toEqual(["trace 0.10"]);
});
