/** Streams: the ordered entries of the log, the unordered ones, or all. */
import type { EventLog } from "./events";
import { Growable } from "./growable";

/** A sorted list of positions in the log. */
export interface Positions {
  readonly length: number;
  at(i: number): number;
  /** Returns the index of `position` in the list, or -1. */
  find(position: number): number;
  /** Returns how many positions are less than `position`. */
  lowerBound(position: number): number;
}

export interface Stream {
  readonly positions: Positions;
  /** The number of events that arrived, including those that are no longer kept. */
  readonly received: number;
}

export class OneStream implements Stream {
  readonly positions = new Growable<Uint32Array>(Uint32Array);
  received = 0;

  take(position: number): void {
    this.positions.push(position);
    this.received++;
  }
}

/** All entries of the log, including those in none of the streams. The index of each entry is its position. */
export class WholeLog implements Stream, Positions {
  readonly positions: Positions = this;

  constructor(private readonly log: EventLog) {}

  get received(): number {
    return this.length;
  }

  get length(): number {
    return this.log.length;
  }

  at(i: number): number {
    return i < 0 ? this.length + i : i;
  }

  find(position: number): number {
    return position < this.length ? position : -1;
  }

  lowerBound(position: number): number {
    return Math.min(position, this.length);
  }
}
