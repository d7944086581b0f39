/** The loop iterations of events. */
import type { SiteMessage } from "../transport/wire";
import type { EventLog } from "./events";
import type { Sites } from "./sites";

/** The length of a loop that is known only at run time. */
const OPEN = Number.POSITIVE_INFINITY;

/** The loops around a site, and the positions of their iterations on the x axis. */
export class Loops {
  /**
   * The loops inside the outermost one, innermost first, with their lengths. Only the second loop may be a `while`,
   * which has the length `OPEN`.
   */
  private readonly inside: { length: number; isReversed: boolean }[];
  /** How often the innermost loop runs in each iteration of the outermost one. */
  private readonly count: number;
  private readonly runsBack: boolean;
  private readonly length: number;
  readonly areAny: boolean;
  private readonly leap: number;
  /** Whether the second loop is a `while`, with an unknown number of iterations. */
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

  /**
   * Returns the number of steps of a call in which the site fired last at `last`. It includes the steps after that in
   * which the site does not fire.
   */
  stepsOfCall(last: number): number {
    const seen = Math.floor(last) + 1;
    return seen < this.length && this.length < seen + this.leap ? this.length : seen;
  }

  /** Returns the number of steps of `calls` calls in which nothing fired. */
  stepsLeftOut(calls: number): number {
    return calls * this.length;
  }

  /**
   * Returns the position on the x axis: the step of the outermost loop plus a fraction for the inner loops. The
   * iterations of an inner `while` are at 0, 1/2, 2/3, ….
   */
  at(step: number, inner: number): number {
    return step + this.fraction(Math.max(0, inner) / this.count);
  }

  /** Returns the position as if no loop ran in reverse, so it rises as the loops run. */
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

/** The loops of each site and type, cached. */
export class LoopsOf {
  private readonly cache = new Map<SiteMessage | undefined, Loops>();

  constructor(private readonly sites: Sites) {}

  at(id: number, type = 0): Loops {
    const site = this.sites.of(id, type);
    let loops = this.cache.get(site);
    if (!loops) {
      loops = site ? new Loops(site) : NO_LOOPS;
      this.cache.set(site, loops);
    }
    return loops;
  }
}

/**
 * Returns the number that is shown for an event without a step: outside loops the number of its execution, if that is
 * known, otherwise the number of its firing.
 */
export function firingOf(log: EventLog, position: number, site: SiteMessage | undefined): number {
  const execution = log.execution(position);
  return execution < 0 || site?.loops.length ? log.occurrence(position) : execution;
}

/** Returns `step` and `inner` of the previous iteration of the innermost loop; null for the first iteration. */
export function before(site: SiteMessage, step: number, inner: number): { step: number; inner: number } | null {
  const { loops, reverse } = site;
  const [length, isReversed] = [loops.at(-1) || OPEN, reverse.at(-1) ?? false];
  const isOnly = loops.length === 1;
  const iteration = isOnly ? step : inner % length;
  if (loops.length === 0 || step < 0 || (!isOnly && inner < 0) || iteration === (isReversed ? length - 1 : 0))
    return null;
  const by = isReversed ? 1 : -1;
  return isOnly ? { step: step + by, inner } : { step, inner: inner + by };
}

/** Returns the iteration of each loop around an event, outermost first; empty if they are not known. */
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
