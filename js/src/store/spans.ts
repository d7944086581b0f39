/** The calls of a run as bars on an axis of time, in seconds since the run started. */

import type { CallMessage, StatusMessage } from "../transport/wire";
import { failed, launched, runStart } from "./life";

export interface Span {
  stage: "trace" | "lower" | "compile" | "run" | "drain";
  from: number;
  to: number;
}

export interface Bar {
  call: CallMessage;
  spans: Span[];
  from: number;
  to: number;
  /** Calls that overlap stand below each other. */
  row: number;
}

export function spansOf(call: CallMessage, now: number): Span[] {
  const spans: Span[] = [];
  let at = call.started;
  for (const stage of ["trace", "lower", "compile"] as const) {
    const duration = call[stage];
    if (duration === null) continue;
    spans.push({ stage, from: at, to: at + duration });
    at += duration;
  }
  if (!launched(call)) return spans;
  const stopped = failed(call) ? at : now;
  const ready = call.ready ?? call.drained ?? stopped;
  spans.push({ stage: "run", from: runStart(call), to: Math.max(ready, at) });
  const waits = call.effects && (call.ready !== null || call.drained !== null);
  if (waits) spans.push({ stage: "drain", from: ready, to: Math.max(ready, call.drained ?? stopped) });
  return spans;
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

/** When a barrier waited, last; null where none did. The kernel tells only for how long. */
export function barrierWait(calls: Iterable<CallMessage>, { barrier }: StatusMessage, now: number): Span | null {
  if (barrier.waited <= 0) return null;
  const drained = [...calls].map((call) => call.drained ?? 0);
  const to = barrier.state === "drained" ? Math.max(0, ...drained) : now;
  return { stage: "drain", from: Math.max(0, to - barrier.waited), to };
}

/** The stretch of time in which a call can have fired events. */
export function timeOf(call: CallMessage): { from: number; to: number } {
  return { from: call.started, to: call.drained ?? Number.POSITIVE_INFINITY };
}
