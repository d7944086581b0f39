/**
 * A run in few facts, and which of its numbers are drawn first.
 * `session/run/headline.py` and `run_summary.py` are its twins; both are tested on `tests/overview_cases.json`.
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
/** Steps that the time of one is the mean of, the newest. */
const NEWEST = 100;

/** Where a number comes in the order: a loss, how good it is, other prints, watched numbers, expressions. */
export type Rank = 0 | 1 | 2 | 3 | 4;

export function rankOf(name: string, { forward, watched }: { forward: boolean; watched: boolean }): Rank {
  const plain = isName(name.split(" · ")[0] as string);
  if (plain && forward && LOSS.test(name)) return 0;
  if (plain && forward && QUALITY.test(name)) return 1;
  if (!watched) return 2;
  return plain ? 3 : 4;
}

/** Whether a series counts steps: integers, each one more than the last, or again the first. */
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

/** A series of numbers, with what tells whether others are of the same value. */
export interface Numbers {
  series: Series;
  name: string;
  dtype: string;
}

/** Only of these few numbers of a series it is seen whether it counts. */
const LOOKED_AT = 1000;

/** Those that count no steps: a counter is an integer under a name that counts somewhere, as a loop returns the last count. */
export function withoutCounters<Own extends Numbers>(all: readonly Own[]): Own[] {
  const counting = new Set(all.filter(countsSteps).map(calledOf));
  return all.filter((one) => !(INTEGER.test(one.dtype) && counting.has(calledOf(one))));
}

/** Of several lanes one that counts is enough: others may have ended. */
function countsSteps({ series: { elements, traces }, dtype }: Numbers): boolean {
  if (elements.size !== 1) return false;
  return traces.some((one) => counts(("high" in one ? one.high : one.y).view().subarray(0, LOOKED_AT), dtype));
}

function calledOf({ name }: Numbers): string {
  return name.split(" · ")[0] as string;
}

/** What is known of a call's time, in seconds. */
export type Timed = Pick<CallMessage, "name" | "started" | "compile" | "ready">;

/**
 * Seconds a step by the calls of `name`, from the first that compiled nothing to the end of the last; null where that cannot be
 * told. Calls that began before `since` are not counted: the debugger held the program.
 * The events of short programs are read together, so their own times do not tell it.
 */
export function paceOfCalls(calls: readonly Timed[], name: string, steps: number, since = 0): number | null {
  const own = calls.filter((call) => call.name === name);
  const each = Math.round(steps / own.length);
  if (own.length === 0 || each < 1 || each * own.length !== steps) return null;
  const from = own.map(({ compile }) => compile !== null).lastIndexOf(true) + 1;
  const over = own
    .slice(Math.max(from, own.length - NEWEST))
    .filter((call) => call.ready !== null && call.started >= since);
  const [first, last] = [over[0], over.at(-1)];
  if (!first || !last?.ready || over.length < 2) return null;
  return (last.ready - first.started) / (over.length * each);
}

/** Seconds from one step to the next of a long loop, of late; null where that cannot be told. */
export function paceOf(x: ArrayLike<number>, time: ArrayLike<number>): number | null {
  const [end, start] = [x.length - 1, Math.max(0, x.length - NEWEST)];
  const steps = (x[end] as number) - (x[start] as number);
  const took = (time[end] as number) - (time[start] as number);
  return end > start && steps > 0 && took > 0 ? took / steps : null;
}

/** How often functions were compiled, how many of them, how long all took, and how much of that Numba. */
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

/** From which number to which a value went. */
export interface Course {
  name: string;
  where: string;
  first: number;
  last: number;
  /** Where the numbers are the mean over lanes. */
  lanes?: Lanes | undefined;
}

/** What the facts are made of; null and 0 where it is not known. */
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
  /** The checks that ran and found nothing, in words; "" for none. */
  checked: string;
  compiled: Compiled | null;
}

/** The kind of findings that say where something was not finite. */
export const NONFINITE = "nonfinite";

/** What `--check nonfinite` has seen, without a value that was printed or watched: its headline says of what in backticks. */
export function bornOf(
  findings: readonly Pick<FindingMessage, "kind" | "headline" | "where" | "lane">[],
): Known["nan"] {
  const first = findings.find(({ kind }) => kind === NONFINITE);
  if (!first) return null;
  const { headline, where, lane } = first;
  const name = headline.match(/`([^`]*)`/)?.[1] ?? headline;
  return { name, where, step: null, lane, device: "", nan: headline.replace(/`[^`]*`/g, "").includes("NaN") };
}

/** What is not known is not among them. */
export function factsOf({ steps, pace, elapsed, loss, quality, nan, findings, checked, compiled }: Known): Fact[] {
  const fact = (id: FactId, label: string, value: string, note: string, bad = false): Fact => ({
    id,
    label,
    value,
    note,
    bad,
  });
  const course = (id: "loss" | "quality", of: Course | null) => {
    if (!of) return [];
    const { name, where, first, last, lanes } = of;
    const note = lanes ? `${where}, ${meanWords(lanes)}` : where;
    return [fact(id, name, goneFrom(first, last), note, !Number.isFinite(last) || (lanes?.bad ?? 0) > 0)];
  };
  return [
    ...(steps > 0
      ? [fact("steps", steps === 1 ? "Step" : "Steps", count(steps), timeOfSteps(elapsed, compiled?.seconds ?? 0))]
      : []),
    ...(pace !== null ? [fact("pace", "A step", seconds(pace), "wall time of recent steps")] : []),
    ...course("loss", loss),
    ...course("quality", quality),
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
    ...(compiled ? [fact("compiled", "Compiled", ...timesOf(compiled))] : []),
  ];
}

/** In what time the steps were made: with how much of it was compiling, where that is a tenth or more. */
function timeOfSteps(elapsed: number, compiling: number): string {
  const isMuch = compiling > 0 && elapsed / 10 <= compiling && compiling <= elapsed;
  return `in ${seconds(elapsed)}${isMuch ? `, ${seconds(compiling)} of it compiling` : ""}`;
}

/** How often, and in what time: with how much of it was Numba, where that is a tenth or more. */
function timesOf({ times, functions, seconds: took, numba }: Compiled): [string, string] {
  const time = seconds(took) + (numba > 0 && took / 10 <= numba ? `, ${seconds(numba)} of it Numba` : "");
  if (times === functions) return [times === 1 ? "once" : plural(functions, "function"), time];
  return [`${times} times`, functions === 1 ? time : `${plural(functions, "function")}, ${time}`];
}

/** `2.29 → 0.2`, or one number where both are written alike. */
export function goneFrom(first: number, last: number): string {
  return [...new Set([first, last].map(brief))].join(" → ");
}
