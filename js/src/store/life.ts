/** The life of one call as stages, each in words: traced, lowered, compiled, running, outputs ready, effects. */
import { count, seconds } from "../kit/format";
import { wasEnded } from "../kit/states";
import type { BarrierMessage, CallMessage, StatusMessage } from "../transport/wire";
import type { Ran } from "./flights";

export type StageState = "done" | "now" | "todo" | "wait" | "bad" | "ended";

export interface Stage {
  name: string;
  detail: string;
  state: StageState;
}

/**
 * `now` is in seconds since the run started; `ran` is how long the program took, as far as it is known; `isHeld` is whether the
 * debugger holds it.
 */
export function stagesOf(
  call: CallMessage,
  barrier: BarrierMessage,
  now: number,
  ran: Ran | null,
  isHeld = false,
): Stage[] {
  const running = runningOf(call, now, ran, isHeld);
  const stages = [...preparation(call), dispatched(call), running, ready(call), effects(call, barrier, now)];
  return failed(call) ? withFailure(stages, call) : stages;
}

/** It did not come to its end: it raised, or its user ended it. */
export function failed(call: CallMessage): boolean {
  return call.error !== "" || call.state === "failed";
}

/** Its program has been handed to the device, where it may be running still: on a CPU the call returns only after it. */
export function launched(call: CallMessage): boolean {
  return call.dispatched !== null || call.state === "dispatched";
}

/** What JAX compiles before a function is called. */
export function apartInWords([programs, took]: StatusMessage["apart"]): string {
  return `JAX compiles operations outside jit: ${count(programs)} so far, in ${seconds(took)}.`;
}

/** What waits for so long is worth a look. */
const LONG = 0.25;
/** So many times as long as others take is slow. */
const SLOW = 5;

/**
 * Whether something of it is wrong, slow, or has been waiting for a while; `typical` is how long calls of its function take
 * from one to the next, null where that is not known.
 */
export function needsLook(call: CallMessage, barrier: BarrierMessage, now: number, typical: number | null): boolean {
  if (failed(call) || barrier.state === "timeout" || barrier.state === "failed") return true;
  const waitsSince = call.ready === null ? call.started : call.effects && call.drained === null ? call.ready : null;
  return waitsSince !== null && now - waitsSince > Math.max(LONG, SLOW * (typical ?? 0));
}

/** Seconds from one call of that function to the next; null where there are too few. */
export function typicalOf(calls: readonly CallMessage[], name: string): number | null {
  const began = calls.filter((call) => call.name === name).map(({ started }) => started);
  const [first, last] = [began[0], began.at(-1)];
  return first === undefined || last === undefined || began.length < 3 ? null : (last - first) / (began.length - 1);
}

/** When the program began to run: it was prepared, and the calls before it were over. In seconds since the run started. */
export function runStart(call: CallMessage): number {
  return Math.max(
    call.started + (call.trace ?? 0) + (call.numba ?? 0) + (call.lower ?? 0) + (call.compile ?? 0),
    call.queued,
  );
}

/** `5.1 ms`, or of several calls together `5.1 ms a call`. */
export function lasted(ran: Ran): string {
  return `${seconds(ran.seconds)}${ran.of > 1 ? " a call" : ""}`;
}

const STAGES = [
  ["traced", "tracing"],
  ["lowered", "lowering"],
  ["compiled", "compiling"],
] as const;

function preparation(call: CallMessage): Stage[] {
  const durations = [call.trace, call.lower, call.compile];
  const byNumba: Stage[] = call.numba === null ? [] : [{ name: "Numba", detail: seconds(call.numba), state: "done" }];
  if (launched(call) && durations.every((duration) => duration === null)) {
    return [{ name: "compiled", detail: "cached", state: "done" }];
  }
  let current = true;
  const raised = raisedIn(call, durations);
  const stages = STAGES.map(([name, meanwhile], i): Stage => {
    const duration = durations[i] ?? null;
    if (duration !== null && i !== raised) return { name, detail: seconds(duration), state: "done" };
    if (launched(call)) return { name, detail: "cached", state: "done" };
    const state = current ? "now" : "todo";
    current = false;
    return { name: state === "now" ? meanwhile : name, detail: "", state };
  });
  return [...stages.slice(0, 1), ...byNumba, ...stages.slice(1)];
}

/** The stage that raised, -1 where it is not known: JAX tells how long tracing and lowering took also where they raised. */
function raisedIn(call: CallMessage, durations: readonly (number | null)[]): number {
  const last = durations.map((duration) => duration !== null).lastIndexOf(true);
  return failed(call) && !launched(call) && last < durations.length - 1 ? last : -1;
}

function dispatched(call: CallMessage): Stage {
  return { name: "dispatched", detail: "", state: launched(call) ? "done" : "todo" };
}

function runningOf(call: CallMessage, now: number, ran: Ran | null, isHeld: boolean): Stage {
  if (!launched(call)) return { name: "running", detail: "", state: "todo" };
  if (call.ready === null && isHeld) return { name: "running", detail: "held by the debugger", state: "wait" };
  if (call.ready === null) return { name: "running", detail: seconds(now - runStart(call)), state: "now" };
  return { name: "ran", detail: ran ? lasted(ran) : "", state: "done" };
}

/** When the effects of a call came, seen from when its outputs were ready: `50 ms later`. */
export function arrival(drained: number, since: number): string {
  return drained - since < 1e-6 ? "with the outputs" : `${seconds(drained - since)} later`;
}

function ready(call: CallMessage): Stage {
  if (call.ready === null) return { name: "outputs ready", detail: "", state: "todo" };
  return { name: "outputs ready", detail: "", state: "done" };
}

function effects(call: CallMessage, barrier: BarrierMessage, now: number): Stage {
  const name = "effects";
  if (!call.effects) return { name, detail: "none", state: call.ready === null ? "todo" : "done" };
  if (!launched(call)) return { name, detail: "", state: "todo" };
  const since = call.ready ?? runStart(call);
  if (call.drained !== null) {
    return { name, detail: `arrived ${arrival(call.drained, since)}`, state: "done" };
  }
  if (barrier.state === "timeout") {
    return { name, detail: `not arrived after ${seconds(barrier.timeout ?? barrier.waited)}`, state: "bad" };
  }
  if (barrier.state === "failed") return { name, detail: "barrier failed", state: "bad" };
  const { length } = barrier.pending;
  const count =
    length > 1
      ? `${length} calls waiting for them (${barrier.pending.slice(0, 3).join(", ")}${length > 3 ? ", …" : ""})`
      : "waiting";
  return { name, detail: call.ready === null ? count : `${count} ${seconds(now - since)}`, state: "wait" };
}

/** Such a call stops in the first stage that it has not finished. */
function withFailure(stages: Stage[], call: CallMessage): Stage[] {
  const reached = stages.findIndex((stage) => stage.state !== "done");
  const last = reached < 0 ? stages.length - 1 : reached;
  return stages.map((stage, i) => {
    if (i < last) return stage;
    if (i > last) return { ...stage, detail: "", state: "todo" };
    return { ...stage, detail: call.error.split("\n")[0] || call.state, state: wasEnded(call.state) ? "ended" : "bad" };
  });
}
