/** What many lanes and devices span at each place of the axis: the lowest, the highest and the mean. */
import { Growable } from "./growable";

/** The least and the greatest of what a number is the mean of. */
export type Span = readonly [number, number];

const MOST_PLACES = 32_768;

const column = () => new Growable(Float64Array, 64);

export class Band {
  readonly x = column();
  readonly time = column();
  /** The mean. */
  readonly y = column();
  readonly low = column();
  readonly high = column();
  /** The first call that came to the place. */
  readonly call = column();
  private readonly counts = column();
  total = 0;
  /** Whether what stands later on the axis also came later. */
  risesInTime = true;
  /** Up to here places were put together. */
  private halved = Number.NEGATIVE_INFINITY;

  /**
   * Devices are at different steps at a time, so a place may come again; and a loop that runs from its end comes to new ones
   * from behind. What already is a mean comes with what it is the mean of spans.
   */
  push(x: number, time: number, y: number, call: number, [low, high]: Span = [y, y]): void {
    this.total++;
    if (!Number.isFinite(y)) return;
    const at = this.x.placeOf(x + 1e-9);
    if (at > 0 && (x <= this.halved || x - this.x.at(at - 1) <= 1e-9)) {
      this.widen(at - 1, low, high, y, 1);
      return;
    }
    this.risesInTime &&= at === this.x.length;
    const row = [x, time, y, low, high, call, 1];
    for (const [i, own] of this.columns.entries()) own.splice(at, at, [row[i] as number]);
    if (this.x.length >= MOST_PLACES) this.halve();
  }

  /** How many lanes and devices were finite at place `i`. */
  countAt(i: number): number {
    return this.counts.at(i);
  }

  private get columns(): Growable<Float64Array>[] {
    return [this.x, this.time, this.y, this.low, this.high, this.call, this.counts];
  }

  private widen(i: number, low: number, high: number, mean: number, count: number): void {
    const all = this.counts.at(i) + count;
    this.low.set(i, Math.min(this.low.at(i), low));
    this.high.set(i, Math.max(this.high.at(i), high));
    this.y.set(i, this.y.at(i) + ((mean - this.y.at(i)) * count) / all);
    this.counts.set(i, all);
  }

  /** Two places become one. */
  private halve(): void {
    const { x, y, low, high, counts } = this;
    this.halved = x.at(-1);
    for (let i = 0; i + 1 < x.length; i += 2) {
      this.widen(i, low.at(i + 1), high.at(i + 1), y.at(i + 1), counts.at(i + 1));
    }
    for (const own of this.columns) own.replace(own.view().filter((_, i) => i % 2 === 0));
  }
}
