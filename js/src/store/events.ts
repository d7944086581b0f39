/**
 * The events that have arrived, as columns; one entry is a few dozen bytes. Filled by `run.ts`, read by the views.
 *
 * An entry is an event or a gap: a stretch of events that the kernel had dropped before it could send them, or that
 * were let go here to bound the memory. Entries are counted by position, events by their number in the run.
 */
import type { EventColumns } from "../transport/wire";
import { Growable } from "./growable";

const GAP = 0xffff_ffff;

export class EventLog {
  private readonly sites = new Growable<Uint32Array>(Uint32Array);
  private readonly times = new Growable<Float64Array>(Float64Array);
  /** Of a gap: how many events it stands for. */
  private readonly occurrences = new Growable<Uint32Array>(Uint32Array);
  private readonly lanes = new Growable<Int32Array>(Int32Array);
  private readonly calls = new Growable<Int32Array>(Int32Array);
  private readonly numbers = new Growable<Uint32Array>(Uint32Array);

  /** Appends events `first + from ..` and returns the position of the first one. */
  append(events: EventColumns, first: number, from: number): number {
    const position = this.length;
    this.sites.append(events.site.subarray(from));
    this.times.append(events.time.subarray(from));
    this.occurrences.append(events.occurrence.subarray(from));
    this.lanes.append(events.lane.subarray(from));
    this.calls.append(events.call.subarray(from));
    for (let i = from; i < events.site.length; i++) this.numbers.push(first + i);
    return position;
  }

  /** Appends the gap in place of events `first .. first + count - 1` and returns its position. */
  appendGap(first: number, count: number): number {
    this.sites.push(GAP);
    this.times.push(this.times.at(-1));
    this.occurrences.push(count);
    this.lanes.push(-1);
    this.calls.push(-1);
    this.numbers.push(first);
    return this.length - 1;
  }

  /** Replaces the oldest `count` entries by one gap. */
  trim(count: number): void {
    const missing = this.number(count);
    const columns = [this.sites, this.times, this.occurrences, this.lanes, this.calls, this.numbers];
    for (const column of columns) column.dropFirst(count - 1);
    this.sites.view()[0] = GAP;
    this.occurrences.view()[0] = missing;
    this.numbers.view()[0] = 0;
  }

  get length(): number {
    return this.sites.length;
  }

  /** 0 where the entry is an event. */
  gapCount(position: number): number {
    return this.sites.at(position) === GAP ? this.occurrences.at(position) : 0;
  }

  number(position: number): number {
    return this.numbers.at(position);
  }

  /** The position of event `number`, -1 where it is not kept. */
  find(number: number): number {
    const position = this.numbers.find(number);
    return position >= 0 && this.gapCount(position) === 0 ? position : -1;
  }

  /** How many entries begin before event `number`: the position of the first that does not. */
  lowerBound(number: number): number {
    return this.numbers.lowerBound(number);
  }

  /** The position of the first entry at `time` or later; of the last where there is none. */
  atTime(time: number): number {
    return Math.min(this.times.lowerBound(time), Math.max(0, this.length - 1));
  }

  site(position: number): number {
    return this.sites.at(position);
  }

  time(position: number): number {
    return this.times.at(position);
  }

  occurrence(position: number): number {
    return this.occurrences.at(position);
  }

  lane(position: number): number {
    return this.lanes.at(position);
  }

  call(position: number): number {
    return this.calls.at(position);
  }
}
