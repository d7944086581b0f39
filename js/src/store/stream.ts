/** The entries of the log that belong together: the ordered ones, the unordered ones, or all. */
import type { EventLog } from "./events";
import { Growable } from "./growable";

/** Positions in the log, rising. */
export interface Positions {
  readonly length: number;
  at(i: number): number;
  /** Where `position` stands among them, -1 if it does not. */
  find(position: number): number;
  /** How many of them are less than `position`. */
  lowerBound(position: number): number;
}

export interface Stream {
  readonly positions: Positions;
  /** Events that arrived, also those no longer kept. */
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

/** All that arrived, also what is in none of the streams: each entry stands at its own position. */
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
