/** The stages of one call, in words: traced, lowered, compiled, running, outputs ready, effects. */
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
 * Returns the stages of a call. `now` is in seconds since the run started. `ran` is how long the program took, null if
 * it is not known. `isHeld` says whether the debugger holds the program.
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

/** Whether the call raised, or its user ended it. */
export function failed(call: CallMessage): boolean {
  return call.error !== "" || call.state === "failed";
}

/**
 * Whether the program was handed to the device. It may still run: on a CPU, the call returns only after the program.
 */
export function launched(call: CallMessage): boolean {
  return call.dispatched !== null || call.state === "dispatched";
}

/** Says how many programs JAX compiles outside `jit`, and how long it takes. */
export function apartInWords([programs, took]: StatusMessage["apart"]): string {
  return `JAX compiles operations outside jit: ${count(programs)} so far, in ${seconds(took)}.`;
}

/**
 * A wait of more than this many seconds is worth a look. With less, the strip would come and go where the kernel's news
 * are late, and move the view.
 */
const LONG = 1;
/** A call that takes this many times as long as usual is slow. */
const SLOW = 5;

/**
 * Whether a call failed, is slow, or has waited for a while. `typical` is the usual number of seconds between calls of
 * its function; null if it is not known.
 */
export function needsLook(call: CallMessage, barrier: BarrierMessage, now: number, typical: number | null): boolean {
  if (failed(call) || barrier.state === "timeout" || barrier.state === "failed") return true;
  const waitsSince = call.ready === null ? call.started : call.effects && call.drained === null ? call.ready : null;
  return waitsSince !== null && now - waitsSince > Math.max(LONG, SLOW * (typical ?? 0));
}

/** Returns the mean number of seconds between calls of a function; null if there are fewer than three calls. */
export function typicalOf(calls: readonly CallMessage[], name: string): number | null {
  const began = calls.filter((call) => call.name === name).map(({ started }) => started);
  const [first, last] = [began[0], began.at(-1)];
  return first === undefined || last === undefined || began.length < 3 ? null : (last - first) / (began.length - 1);
}

/**
 * Returns when the program began to run, in seconds since the run started: after it was compiled and the calls before
 * it had ended.
 */
export function runStart(call: CallMessage): number {
  return Math.max(
    call.started + (call.trace ?? 0) + (call.numba ?? 0) + (call.lower ?? 0) + (call.compile ?? 0),
    call.queued,
  );
}

/** Returns `5.1 ms`, or `5.1 ms a call` for the mean of several calls. */
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

/**
 * Returns the index of the stage that raised; -1 if it is not known. JAX reports the time of tracing and lowering also
 * if they raise.
 */
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

/** Says how long after the outputs the effects of a call came: `50 ms later`. */
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

/** Marks the first stage that did not end as the failed one. */
function withFailure(stages: Stage[], call: CallMessage): Stage[] {
  const reached = stages.findIndex((stage) => stage.state !== "done");
  const last = reached < 0 ? stages.length - 1 : reached;
  return stages.map((stage, i) => {
    if (i < last) return stage;
    if (i > last) return { ...stage, detail: "", state: "todo" };
    return { ...stage, detail: call.error.split("\n")[0] || call.state, state: wasEnded(call.state) ? "ended" : "bad" };
  });
}

/** Returns the range of time in which a call can have fired events. */
export function timeOf(call: CallMessage): { from: number; to: number } {
  return { from: call.started, to: call.drained ?? Number.POSITIVE_INFINITY };
}
