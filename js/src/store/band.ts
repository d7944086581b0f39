/** The lowest value, the highest value and the mean over many lanes and devices, at each position of the x axis. */
import { Growable } from "./growable";

/** The least and the greatest of the numbers that a mean summarizes. */
export type Span = readonly [number, number];

const MOST_PLACES = 32_768;

const column = () => new Growable(Float64Array, 64);

export class Band {
  readonly x = column();
  readonly time = column();
  /** The mean at each position. */
  readonly y = column();
  readonly low = column();
  readonly high = column();
  /** The first call that reached each position. */
  readonly call = column();
  private readonly counts = column();
  total = 0;
  /** Whether time rises with `x`. */
  risesInTime = true;
  /** The last position that `halve` has merged. */
  private halved = Number.NEGATIVE_INFINITY;

  /**
   * Adds a number at position `x`. A position may come again, because devices are at different steps. Positions may
   * also come in falling order, because a loop may run in reverse. If `y` is itself a mean, the last parameter is the
   * range of its numbers.
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
    for (const [i, values] of this.columns.entries()) values.splice(at, at, [row[i] as number]);
    if (this.x.length >= MOST_PLACES) this.halve();
  }

  /** Returns how many lanes and devices had a finite value at position `i`. */
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

  /** Merges each pair of neighbouring positions into one, but keeps the last position. */
  private halve(): void {
    const { x, y, low, high, counts } = this;
    this.halved = x.at(-1);
    const last = x.length - 1;
    for (let i = 0; i + 1 < last; i += 2) {
      this.widen(i, low.at(i + 1), high.at(i + 1), y.at(i + 1), counts.at(i + 1));
    }
    for (const values of this.columns) values.replace(values.view().filter((_, i) => i % 2 === 0 || i === last));
  }
}
