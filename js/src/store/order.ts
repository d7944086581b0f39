/**
 * Where the order of arrival departs from the order of the program: of two unordered events of one step, the one that
 * stands later in the program came first. A step is the n-th firing, within one call and one lane, of the sites that
 * lie in the same loops and branches; others have no common step.
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

  /** The mark of event `number`. */
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
  /** By site and lane, how often it has fired. */
  private readonly fired = new Map<number, number>();
  /** By step, the event that stands last in the program: its place and, in the lower 32 bits, its number. */
  private last = new Map<number, number>();

  /** The event of this step that came before `number` though it stands after it, -1 for none. */
  note(number: number, site: SiteMessage, loop: number, lane: number): number {
    const own = site.id * LANES + lane + 1;
    const count = this.fired.get(own) ?? 0;
    this.fired.set(own, count + 1);
    const step = (count * 256 + loop) * LANES + lane + 1;
    const last = this.last.get(step) ?? -1;
    if (Math.floor(last / NUMBERS) > site.order) return last % NUMBERS;
    if (this.last.size > MOST_STEPS) this.last = new Map();
    this.last.set(step, site.order * NUMBERS + number);
    return -1;
  }
}
