/** The calls of a run as bars on a time axis, in seconds since the run started. */

import type { CallMessage, StatusMessage } from "../transport/wire";
import { failed, launched, runStart } from "./life";
import type { Threads } from "./threads";

export interface Span {
  /** `flight` lasts from the dispatch until the outputs are ready, whatever the device does meanwhile. */
  stage: "trace" | "numba" | "lower" | "compile" | "flight" | "drain";
  from: number;
  to: number;
}

export interface Bar {
  call: CallMessage;
  spans: Span[];
  from: number;
  to: number;
  /** The row of the bar within its thread. Overlapping calls have different rows. */
  row: number;
}

export function spansOf(call: CallMessage, now: number): Span[] {
  const spans: Span[] = [];
  let at = call.started;
  for (const stage of ["trace", "numba", "lower", "compile"] as const) {
    const duration = call[stage];
    if (duration === null) continue;
    spans.push({ stage, from: at, to: at + duration });
    at += duration;
  }
  if (!launched(call)) return spans;
  const stopped = failed(call) ? at : now;
  const ready = call.ready ?? call.drained ?? stopped;
  spans.push({ stage: "flight", from: runStart(call), to: Math.max(ready, at) });
  const waits = call.effects && (call.ready !== null || call.drained !== null);
  if (waits) spans.push({ stage: "drain", from: ready, to: Math.max(ready, call.drained ?? stopped) });
  return spans;
}

/** The calls of one Python thread. */
export interface ThreadOfCalls {
  name: string;
  bars: Bar[];
  rows: number;
}

/** Groups the calls by the thread that made them. The thread of the first call is on top. */
export function byThread(calls: Iterable<CallMessage>, now: number): ThreadOfCalls[] {
  const found = new Map<string, CallMessage[]>();
  for (const call of calls) {
    const ofThread = found.get(call.thread);
    if (ofThread) ofThread.push(call);
    else found.set(call.thread, [call]);
  }
  if (found.size === 0) found.set("", []);
  return [...found].map(([name, ofThread]) => {
    const bars = barsOf(ofThread, now);
    return { name, bars, rows: Math.max(1, ...bars.map(({ row }) => row + 1)) };
  });
}

export function barsOf(calls: Iterable<CallMessage>, now: number): Bar[] {
  const ends: number[] = [];
  const sorted = [...calls].sort((a, b) => a.started - b.started);
  return sorted.map((call) => {
    const spans = spansOf(call, now);
    const to = spans.at(-1)?.to ?? (failed(call) ? call.started : now);
    const free = ends.findIndex((end) => end <= call.started);
    const row = free < 0 ? ends.length : free;
    ends[row] = to;
    return { call, spans, from: call.started, to, row };
  });
}

export interface WaitSpan {
  from: number;
  to: number;
  /** What the thread waited for. */
  what: "effects" | "outputs";
  thread: string;
}

/** Returns when something waited: the run itself at its end, or the program. */
export function waitsOf({ barrier }: StatusMessage, threads: Threads, now: number): WaitSpan[] {
  const byRun = barrier.waits.map(
    ([from, to]): WaitSpan => ({ from, to: to ?? Math.max(from, now), what: "effects", thread: "" }),
  );
  const byProgram = threads.waits().map(
    ({ site, thread, from, to }): WaitSpan => ({
      from,
      to,
      what: site === -1 ? "effects" : "outputs",
      thread: threads.nameOf(thread),
    }),
  );
  return [...byRun, ...byProgram].sort((a, b) => a.from - b.from);
}

/** The time spent on one kind of work, in seconds. Time in which several calls do the same counts once. */
export interface Total {
  what: Span["stage"] | "wait for outputs" | "wait for effects" | "outside JAX";
  seconds: number;
}

const STAGES = ["trace", "numba", "lower", "compile", "flight", "drain"] as const;

/** Returns the totals of the range `from .. to` that are not 0. The last one is the time without any call. */
export function totalsOf(bars: readonly Bar[], waits: readonly WaitSpan[], from: number, to: number): Total[] {
  const spans = bars.flatMap((bar) => bar.spans);
  const total = (what: Total["what"], found: readonly { from: number; to: number }[]): Total => ({
    what,
    seconds: covered(found, from, to),
  });
  const busy = covered([...spans, ...waits], from, to);
  return [
    ...STAGES.map((stage) =>
      total(
        stage,
        spans.filter((span) => span.stage === stage),
      ),
    ),
    ...(["outputs", "effects"] as const).map((what) =>
      total(
        `wait for ${what}`,
        waits.filter((wait) => wait.what === what),
      ),
    ),
    { what: "outside JAX" as const, seconds: to - from - busy },
  ].filter(({ seconds }) => seconds > 1e-9);
}

/** Returns how much of the range `from .. to` the spans cover together. */
function covered(spans: readonly { from: number; to: number }[], from: number, to: number): number {
  let sum = 0;
  let end = from;
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    sum += Math.max(0, Math.min(span.to, to) - Math.max(span.from, end));
    end = Math.max(end, Math.min(span.to, to));
  }
  return sum;
}
