/** Shows how the visible stretch of time is divided among tracing, compiling, running and waiting. */
import { seconds } from "../../kit/format";
import { type ThreadOfCalls, totalsOf, type WaitSpan } from "../../store/spans";
import type { Stretch } from "./axis";

interface Props {
  threads: readonly ThreadOfCalls[];
  waits: readonly WaitSpan[];
  seen: Stretch;
  /** The present end of the run, in seconds since it started. */
  now: number;
}

/** The stages whose name on the screen differs from their name in the code. */
export const NAMES: Readonly<Record<string, string>> = { numba: "Numba", flight: "in flight", drain: "effects" };

const WORDS: Readonly<Record<string, string>> = {
  trace: "JAX traced Python functions",
  lower: "JAX lowered what it had traced to StableHLO",
  compile: "XLA compiled",
  numba: "Numba was loaded, and once for this environment compiled the functions that read watched values",
  flight:
    "at least one call was in flight: it had been dispatched, and its outputs were not ready. The tab Calls shows how long each call ran, which is less where calls wait for one another",
  drain: "outputs were ready, but not all prints and callbacks had arrived",
  "wait for outputs": "a Python thread waited for outputs",
  "wait for effects": "a Python thread waited for prints and callbacks",
  "outside JAX": "no call was in progress: Python did something else",
};

/** The stages that have a colour of their own. */
const STAGES: readonly string[] = ["trace", "numba", "lower", "compile", "flight", "drain"];

export function Totals({ threads, waits, seen, now }: Props) {
  const [from, to] = [Math.max(0, seen.from), Math.min(now, seen.to)];
  const bars = threads.flatMap((thread) => thread.bars);
  if (to <= from || bars.length === 0) return null;
  return (
    <p class="time-totals" data-testid="totals">
      <span class="muted">Of the {seconds(to - from)} shown</span>
      {totalsOf(bars, waits, from, to).map((total) => (
        <span key={total.what} title={WORDS[total.what]}>
          {STAGES.includes(total.what) && <i class={`span ${total.what}`} aria-hidden="true" />}
          {NAMES[total.what] ?? total.what} <b class="number">{seconds(total.seconds)}</b>
        </span>
      ))}
    </p>
  );
}
