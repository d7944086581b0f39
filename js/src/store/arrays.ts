/**
 * The slices of arrays that the kernel has sent. One request is under way at a time; of what was wanted meanwhile
 * only the latest is asked for, so that dragging over a thousand steps does not ask for a thousand arrays.
 */
import type { ArraySlice } from "../transport/wire";

const MOST_KEPT = 24;

export interface WantedSlice {
  event: number;
  value: number;
  index: number[];
  /** Which are rows and columns, and then those that are tiled; absent for the last two. */
  axes?: number[];
  /** All rows, columns and channels, where the value is a picture. */
  image: boolean;
}

/** A slice, or why there is none. */
export type SliceAnswer = ArraySlice | string;
export type AskForSlice<Wanted> = (wanted: Wanted, answer: (slice: SliceAnswer) => void) => void;

export class ArraySlices<Wanted extends { image: boolean } = WantedSlice> {
  private readonly kept = new Map<string, SliceAnswer>();
  private wanted: Wanted | null = null;
  private asking = false;

  constructor(
    private readonly ask: AskForSlice<Wanted>,
    private readonly changed: () => void,
  ) {}

  /** The slice, if it is here; else it is asked for. */
  get(wanted: Wanted): SliceAnswer | undefined {
    const found = this.known(wanted);
    if (found === undefined) {
      this.wanted = wanted;
      this.askNext();
    }
    return found;
  }

  /** The slice, if it is here. */
  known(wanted: Wanted): SliceAnswer | undefined {
    return this.kept.get(JSON.stringify(wanted));
  }

  /** No answer will come; what failed may be tried again. */
  forget(): void {
    this.asking = false;
    this.wanted = null;
    for (const [key, answer] of this.kept) if (typeof answer === "string") this.kept.delete(key);
  }

  /** The values have changed. */
  clear(): void {
    this.kept.clear();
  }

  private askNext(): void {
    const { wanted } = this;
    if (this.asking || !wanted) return;
    this.asking = true;
    this.wanted = null;
    this.ask(wanted, (answer) => {
      this.asking = false;
      this.keep(JSON.stringify(wanted), answer);
      if (this.wanted && this.kept.has(JSON.stringify(this.wanted))) this.wanted = null;
      this.askNext();
      this.changed();
    });
  }

  private keep(key: string, answer: SliceAnswer): void {
    this.kept.set(key, answer);
    const [oldest] = this.kept.keys();
    if (this.kept.size > MOST_KEPT && oldest !== undefined) this.kept.delete(oldest);
  }
}
