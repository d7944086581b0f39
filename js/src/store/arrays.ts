/**
 * A cache of the array slices that the kernel has sent. Only one request is pending at a time. Of the slices that are
 * wanted meanwhile, only the newest is requested next, so that dragging over a thousand steps does not request a
 * thousand arrays.
 */
import type { ArraySlice } from "../transport/wire";

const MOST_KEPT = 24;

export interface WantedSlice {
  event: number;
  value: number;
  index: number[];
  /**
   * The axes that are shown as rows and as columns, then the tiled axes. If absent, the last two axes are rows and
   * columns.
   */
  axes?: number[];
  /** Whether to send all rows, columns and channels if the value is a picture. */
  image: boolean;
}

/** A slice, or the reason why there is none. */
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

  /** Returns the slice if it is cached; otherwise requests it and returns undefined. */
  get(wanted: Wanted): SliceAnswer | undefined {
    const found = this.known(wanted);
    if (found === undefined) {
      this.wanted = wanted;
      this.askNext();
    }
    return found;
  }

  /** Returns the slice if it is cached; requests nothing. */
  known(wanted: Wanted): SliceAnswer | undefined {
    return this.kept.get(JSON.stringify(wanted));
  }

  /** Forgets the pending request, which will not be answered, and the failed ones, so that they can be tried again. */
  forget(): void {
    this.asking = false;
    this.wanted = null;
    for (const [key, answer] of this.kept) if (typeof answer === "string") this.kept.delete(key);
  }

  /** Empties the cache, because the values have changed. */
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
