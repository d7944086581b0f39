/** The iterations of the loops around an event. */
import type { SiteMessage } from "../transport/wire";
import type { EventLog } from "./events";
import type { Sites } from "./sites";

/** The length of a loop that only run time tells. */
const OPEN = Number.POSITIVE_INFINITY;

/** The loops around a site, and where on an axis of steps their iterations stand. */
export class Loops {
  /** Of the loops inside the outermost, the innermost first: how many iterations they have, and whether from the end.
   * Without end the second may be, a `while`. */
  private readonly inside: { length: number; isReversed: boolean }[];
  /** How often the innermost runs for each iteration of the outermost. */
  private readonly count: number;
  private readonly runsBack: boolean;
  private readonly length: number;
  readonly areAny: boolean;
  private readonly leap: number;
  /** The second is a `while`: nobody knows how many iterations it will have. */
  private readonly isOpen: boolean;

  constructor({ loops, reverse, leap }: Pick<SiteMessage, "loops" | "reverse" | "leap">) {
    const all = loops.map((length, i) => ({ length: length || OPEN, isReversed: reverse[i] ?? false }));
    this.inside = all.slice(1).reverse();
    this.isOpen = all[1]?.length === OPEN;
    this.count = this.inside.reduce((product, { length }) => product * (length === OPEN ? 1 : length), 1);
    this.runsBack = all[0]?.isReversed ?? false;
    this.length = loops[0] ?? 0;
    this.areAny = loops.length > 0;
    this.leap = leap;
  }

  /** How many steps a call has had that came so far: those after the last that fired are of it, too. */
  stepsOfCall(last: number): number {
    const seen = Math.floor(last) + 1;
    return seen < this.length && this.length < seen + this.leap ? this.length : seen;
  }

  /** How many steps so many calls have had in which nothing fired. */
  stepsLeftOut(calls: number): number {
    return calls * this.length;
  }

  /** The step of the outermost loop, inner loops as its fractions; iterations of a `while` at 0, 1/2, 2/3, … of it. */
  at(step: number, inner: number): number {
    return step + this.fraction(Math.max(0, inner) / this.count);
  }

  /** The same for loops that all run from the start: it rises as they run. */
  turn(step: number, inner: number): number {
    let turn = 0;
    let scale = 1;
    let left = Math.max(0, inner);
    for (const { length, isReversed } of this.inside) {
      const digit = left % length;
      turn += scale * (isReversed ? length - 1 - digit : digit);
      scale *= length === OPEN ? 1 : length;
      left = Math.floor(left / length);
    }
    return this.fraction(turn / scale) + (this.runsBack ? -step : step);
  }

  private fraction(iterations: number): number {
    return this.isOpen ? iterations / (1 + iterations) : iterations;
  }
}

export const NO_LOOPS = new Loops({ loops: [], reverse: [], leap: 1 });

/** Of sites, and of each of the types that they were compiled for. */
export class LoopsOf {
  private readonly known = new Map<SiteMessage | undefined, Loops>();

  constructor(private readonly sites: Sites) {}

  at(id: number, type = 0): Loops {
    const site = this.sites.of(id, type);
    let loops = this.known.get(site);
    if (!loops) {
      loops = site ? new Loops(site) : NO_LOOPS;
      this.known.set(site, loops);
    }
    return loops;
  }
}

/** The number of an event whose step is not told: outside loops that of its execution, if that is known, else of its firing. */
export function firingOf(log: EventLog, position: number, site: SiteMessage | undefined): number {
  const execution = log.execution(position);
  return execution < 0 || site?.loops.length ? log.occurrence(position) : execution;
}

/** The iteration of the innermost loop before this one, as `step` and `inner` count it; null for the first. */
export function before(site: SiteMessage, step: number, inner: number): { step: number; inner: number } | null {
  const { loops, reverse } = site;
  const [length, isReversed] = [loops.at(-1) || OPEN, reverse.at(-1) ?? false];
  const isOnly = loops.length === 1;
  const own = isOnly ? step : inner % length;
  if (loops.length === 0 || step < 0 || (!isOnly && inner < 0) || own === (isReversed ? length - 1 : 0)) return null;
  const by = isReversed ? 1 : -1;
  return isOnly ? { step: step + by, inner } : { step, inner: inner + by };
}

/** Of each loop, outermost first; empty where it is not known. */
export function stepsOf(log: EventLog, position: number, site: SiteMessage | undefined): number[] {
  const step = log.step(position);
  if (step < 0) return [];
  let inner = log.inner(position);
  const steps: number[] = [];
  for (const length of inner < 0 ? [] : (site?.loops.slice(1) ?? []).reverse()) {
    steps.unshift(inner % (length || OPEN));
    inner = Math.floor(inner / (length || OPEN));
  }
  return [step, ...steps];
}
