/**
 * Finds unordered events that arrived in another order than that of the program: of two events of one step, the later
 * one in the program came first. A step is the n-th firing, in one call and one lane, of the sites in the same loops
 * and branches. Sites in different loops have no common step.
 */
import type { SiteMessage } from "../transport/wire";

export type OrderMark = "early" | "late";

const MOST_STEPS = 50_000;
const MOST_MARKS = 100_000;
const LANES = 0x1_0000;
const NUMBERS = 2 ** 32;

export class ProgramOrder {
  inversions = 0;
  private readonly marks = new Map<number, OrderMark>();
  private readonly loops = new Map<string, number>();
  private readonly loopOfSite = new Map<number, number>();
  private readonly calls = new Map<number, CallSteps>();

  /** Returns the mark of event `number`. */
  mark(number: number): OrderMark | undefined {
    return this.marks.get(number);
  }

  note(number: number, site: SiteMessage, call: number, lane: number): void {
    if (site.order < 0) return;
    let steps = this.calls.get(call);
    if (!steps) {
      steps = new CallSteps();
      this.calls.set(call, steps);
    }
    const before = steps.note(number, site, this.loopOf(site), lane);
    if (before < 0) return;
    this.inversions++;
    if (this.marks.size > MOST_MARKS) return;
    this.marks.set(number, "late");
    if (!this.marks.has(before)) this.marks.set(before, "early");
  }

  private loopOf(site: SiteMessage): number {
    let loop = this.loopOfSite.get(site.id);
    if (loop === undefined) {
      const path = (site.name_stack.match(/while|scan|cond|branch\w*/g) ?? []).join();
      loop = this.loops.get(path) ?? this.loops.size;
      this.loops.set(path, loop);
      this.loopOfSite.set(site.id, loop);
    }
    return loop;
  }
}

class CallSteps {
  /** For each site and lane, how often it has fired. */
  private readonly fired = new Map<number, number>();
  /**
   * For each step, the event that is last in program order: its order in the upper bits, its number in the lower 32
   * bits.
   */
  private last = new Map<number, number>();

  /** Returns an event of the same step that arrived earlier and is later in the program; -1 if there is none. */
  note(number: number, site: SiteMessage, loop: number, lane: number): number {
    const strand = site.id * LANES + lane + 1;
    const count = this.fired.get(strand) ?? 0;
    this.fired.set(strand, count + 1);
    const step = (count * 256 + loop) * LANES + lane + 1;
    const last = this.last.get(step) ?? -1;
    if (Math.floor(last / NUMBERS) > site.order) return last % NUMBERS;
    if (this.last.size > MOST_STEPS) this.last = new Map();
    this.last.set(step, site.order * NUMBERS + number);
    return -1;
  }
}
