/**
 * Summarizes a run in a few facts, and ranks the numbers that are drawn first. `session/run/headline.py` and
 * `run_summary.py` are its twins; both are tested on `tests/overview_cases.json`.
 */
import { brief, count, plural, seconds } from "../kit/format";
import type { CallMessage, FindingMessage } from "../transport/wire";
import { isName } from "./groups";
import { type Lanes, meanWords } from "./lanes";
import type { Series } from "./series";
import { laneWords } from "./watched";

const LOSS = /loss|nll|elbo|objective|cost|energy/i;
const QUALITY = /acc|score|reward|return|error|auc|f1/i;
const INTEGER = /^u?int/;
/** The number of newest steps over which the time of a step is averaged. */
const NEWEST = 100;

/** The rank of a number, best first: a loss, a metric, another print, a watched variable, a watched expression. */
export type Rank = 0 | 1 | 2 | 3 | 4;

export function rankOf(name: string, { forward, watched }: { forward: boolean; watched: boolean }): Rank {
  const plain = isName(name.split(" · ")[0] as string);
  if (plain && forward && LOSS.test(name)) return 0;
  if (plain && forward && QUALITY.test(name)) return 1;
  if (!watched) return 2;
  return plain ? 3 : 4;
}

/** Whether a series is a step counter: each integer is one more than the previous one, or the first again. */
export function counts(values: ArrayLike<number>, dtype: string): boolean {
  if (!INTEGER.test(dtype) || values.length < 2) return false;
  let again = 0;
  for (let i = 1; i < values.length; i++) {
    if ((values[i] as number) - (values[i - 1] as number) === 1) continue;
    if (values[i] !== values[0]) return false;
    again++;
  }
  return values.length - 1 >= 3 * again;
}

/** A series, with the name and dtype that identify counters. */
export interface Numbers {
  series: Series;
  name: string;
  dtype: string;
}

/** The number of values of a series that are tested. */
const LOOKED_AT = 1000;

/**
 * Leaves counters out. A counter is an integer with a name that counts in at least one of its series: a loop also
 * returns the last count alone.
 */
export function withoutCounters<Item extends Numbers>(all: readonly Item[]): Item[] {
  const counting = new Set(all.filter(countsSteps).map(nameOf));
  return all.filter((numbers) => !(INTEGER.test(numbers.dtype) && counting.has(nameOf(numbers))));
}

/** Whether at least one lane counts. One is enough, because others may have ended. */
function countsSteps({ series: { elements, traces }, dtype }: Numbers): boolean {
  if (elements.size !== 1) return false;
  return traces.some((trace) => counts(("high" in trace ? trace.high : trace.y).view().subarray(0, LOOKED_AT), dtype));
}

function nameOf({ name }: Numbers): string {
  return name.split(" · ")[0] as string;
}

/** The times of a call, in seconds. */
export type Timed = Pick<CallMessage, "name" | "started" | "compile" | "ready">;

/**
 * Returns the mean time of a step in the calls of `name`, in seconds; null if it is not known. It is measured from the
 * first call that compiled nothing to the end of the last call. Calls that began before `since` are left out, because
 * the debugger held the program then. The times of single events do not serve: the events of short programs are read
 * together.
 */
export function paceOfCalls(calls: readonly Timed[], name: string, steps: number, since = 0): number | null {
  const ofName = calls.filter((call) => call.name === name);
  const each = Math.round(steps / ofName.length);
  if (ofName.length === 0 || each < 1 || each * ofName.length !== steps) return null;
  const from = ofName.map(({ compile }) => compile !== null).lastIndexOf(true) + 1;
  const finished = ofName
    .slice(Math.max(from, ofName.length - NEWEST))
    .filter((call) => call.ready !== null && call.started >= since);
  const [first, last] = [finished[0], finished.at(-1)];
  if (!first || !last?.ready || finished.length < 2) return null;
  return (last.ready - first.started) / (finished.length * each);
}

/** Returns the recent mean time of a step of a long loop, in seconds; null if it is not known. */
export function paceOf(x: ArrayLike<number>, time: ArrayLike<number>): number | null {
  const [end, start] = [x.length - 1, Math.max(0, x.length - NEWEST)];
  const steps = (x[end] as number) - (x[start] as number);
  const took = (time[end] as number) - (time[start] as number);
  return end > start && steps > 0 && took > 0 ? took / steps : null;
}

/** How often functions were compiled, how many functions, the total seconds, and the seconds that Numba took. */
export interface Compiled {
  times: number;
  functions: number;
  seconds: number;
  numba: number;
}

export function compiledOf(calls: Iterable<CallMessage>): Compiled | null {
  const functions = new Set<string>();
  let [times, took, byNumba] = [0, 0, 0];
  for (const call of calls) {
    const { trace, numba, lower, compile } = call;
    if (compile === null) continue;
    functions.add(call.function);
    times += 1;
    byNumba += numba ?? 0;
    took += compile + (trace ?? 0) + (numba ?? 0) + (lower ?? 0);
  }
  return times > 0 ? { times, functions: functions.size, seconds: took, numba: byNumba } : null;
}

export type FactId = "steps" | "pace" | "loss" | "quality" | "nan" | "findings" | "compiled";

export interface Fact {
  id: FactId;
  label: string;
  value: string;
  note: string;
  bad: boolean;
}

/** The first and the last number of a value. */
export interface Course {
  name: string;
  where: string;
  first: number;
  last: number;
  /** Present if the numbers are means over lanes. */
  lanes?: Lanes | undefined;
}

/** The input of the facts. Null and 0 mean that a number is not known. */
export interface Known {
  steps: number;
  pace: number | null;
  elapsed: number;
  loss: Course | null;
  quality: Course | null;
  nan: {
    name: string;
    where: string;
    step: number | null;
    lane: readonly number[];
    device: string;
    nan: boolean;
  } | null;
  findings: number;
  /** The checks that ran and found nothing, in words; "" if there are none. */
  checked: string;
  compiled: Compiled | null;
}

/** The kind of findings about NaNs and infinities. */
export const NONFINITE = "nonfinite";

/**
 * Returns the NaN or infinity that `--check nonfinite` saw in a value that is neither printed nor watched. Its headline
 * has the value's name in backticks.
 */
export function bornOf(
  findings: readonly Pick<FindingMessage, "kind" | "headline" | "where" | "lane">[],
): Known["nan"] {
  const first = findings.find(({ kind }) => kind === NONFINITE);
  if (!first) return null;
  const { headline, where, lane } = first;
  const name = headline.match(/`([^`]*)`/)?.[1] ?? headline;
  return { name, where, step: null, lane, device: "", nan: headline.replace(/`[^`]*`/g, "").includes("NaN") };
}

/** Returns the facts that are known. */
export function factsOf({ steps, pace, elapsed, loss, quality, nan, findings, checked, compiled }: Known): Fact[] {
  const fact = (id: FactId, label: string, value: string, note: string, bad = false): Fact => ({
    id,
    label,
    value,
    note,
    bad,
  });
  const courseFact = (id: "loss" | "quality", course: Course | null) => {
    if (!course) return [];
    const { name, where, first, last, lanes } = course;
    const note = lanes ? `${where}, ${meanWords(lanes)}` : where;
    return [fact(id, name, goneFrom(first, last), note, !Number.isFinite(last) || (lanes?.bad ?? 0) > 0)];
  };
  return [
    ...(steps > 0
      ? [fact("steps", steps === 1 ? "Step" : "Steps", count(steps), timeOfSteps(elapsed, compiled?.seconds ?? 0))]
      : []),
    ...(pace !== null ? [fact("pace", "A step", seconds(pace), "wall time of recent steps")] : []),
    ...courseFact("loss", loss),
    ...courseFact("quality", quality),
    ...(nan
      ? [
          fact(
            "nan",
            nan.nan ? "First NaN" : "First infinity",
            nan.name,
            [nan.where, nan.step !== null && `step ${count(nan.step)}`, laneWords(nan.lane), nan.device]
              .filter(Boolean)
              .join(", "),
            true,
          ),
        ]
      : []),
    ...(findings > 0
      ? [fact("findings", "Findings", count(findings), "wrong or slow", true)]
      : checked
        ? [fact("findings", checked, "found nothing", "")]
        : []),
    ...(compiled ? [fact("compiled", "Compiled", ...compileWords(compiled))] : []),
  ];
}

/** Says how long the steps took. Adds the compile time if it is at least a tenth. */
function timeOfSteps(elapsed: number, compiling: number): string {
  const isMuch = compiling > 0 && elapsed / 10 <= compiling && compiling <= elapsed;
  return `in ${seconds(elapsed)}${isMuch ? `, ${seconds(compiling)} of it compiling` : ""}`;
}

/** Says how often functions were compiled and how long it took. Adds Numba's time if it is at least a tenth. */
function compileWords({ times, functions, seconds: took, numba }: Compiled): [string, string] {
  const time = seconds(took) + (numba > 0 && took / 10 <= numba ? `, ${seconds(numba)} of it Numba` : "");
  if (times === functions) return [times === 1 ? "once" : plural(functions, "function"), time];
  return [`${times} times`, functions === 1 ? time : `${plural(functions, "function")}, ${time}`];
}

/** Returns `2.29 → 0.2`, or one number if both have the same text. */
export function goneFrom(first: number, last: number): string {
  return [...new Set([first, last].map(brief))].join(" → ");
}
