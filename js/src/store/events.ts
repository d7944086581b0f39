/**
 * The events that have arrived, as columns; one entry is a few dozen bytes. Filled by `run.ts`, read by the views.
 *
 * An entry is an event or a gap: a stretch of events that the kernel had dropped before it could send them, or that
 * were let go here to bound the memory. Entries are counted by position, events by their number in the run.
 */
import type { EventColumns } from "../transport/wire";
import { Growable } from "./growable";

const GAP = 0xffff_ffff;

type Columns = { [Name in keyof EventColumns]: Growable<EventColumns[Name]> };

export class EventLog {
  private readonly columns: Columns = {
    site: new Growable(Uint32Array),
    time: new Growable(Float64Array),
    /** Of a gap: how many events it stands for. */
    occurrence: new Growable(Uint32Array),
    lane: new Growable(Int32Array),
    call: new Growable(Int32Array),
    execution: new Growable(Int32Array),
    step: new Growable(Int32Array),
    inner: new Growable(Int32Array),
    device: new Growable(Int32Array),
    phantom: new Growable(Uint8Array),
    type: new Growable(Uint16Array),
  };
  private readonly numbers = new Growable<Uint32Array>(Uint32Array);

  /** Appends events `first + from ..` and returns the position of the first one. */
  append(events: EventColumns, first: number, from: number): number {
    const position = this.length;
    for (const [name, column] of Object.entries(this.columns) as [keyof Columns, Growable<Int32Array>][]) {
      column.append((events[name] as Int32Array).subarray(from));
    }
    for (let i = from; i < events.site.length; i++) this.numbers.push(first + i);
    return position;
  }

  /** Appends the gap in place of events `first .. first + count - 1` and returns its position. */
  appendGap(first: number, count: number): number {
    const { site, time, occurrence, phantom, type, ...others } = this.columns;
    site.push(GAP);
    time.push(time.at(-1));
    occurrence.push(count);
    phantom.push(0);
    type.push(0);
    for (const column of Object.values(others)) column.push(-1);
    this.numbers.push(first);
    return this.length - 1;
  }

  /** Replaces the oldest `count` entries by one gap. */
  trim(count: number): void {
    const missing = this.number(count);
    for (const column of [...Object.values(this.columns), this.numbers]) column.dropFirst(count - 1);
    this.columns.site.view()[0] = GAP;
    this.columns.occurrence.view()[0] = missing;
    this.numbers.view()[0] = 0;
  }

  get length(): number {
    return this.numbers.length;
  }

  /** 0 where the entry is an event. */
  gapCount(position: number): number {
    return this.site(position) === GAP ? this.occurrence(position) : 0;
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
    return Math.min(this.columns.time.lowerBound(time), Math.max(0, this.length - 1));
  }

  /** The last event that came in one go with event `number`: what one execution told together. */
  endOf(number: number): number {
    let position = this.find(number);
    if (position < 0) return number;
    const time = this.time(position);
    while (position + 1 < this.length && this.time(position + 1) === time) position++;
    return this.number(position);
  }

  site(position: number): number {
    return this.columns.site.at(position);
  }

  /** Which of its site's types it is of. */
  type(position: number): number {
    return this.columns.type.at(position);
  }

  time(position: number): number {
    return this.columns.time.at(position);
  }

  occurrence(position: number): number {
    return this.columns.occurrence.at(position);
  }

  lane(position: number): number {
    return this.columns.lane.at(position);
  }

  call(position: number): number {
    return this.columns.call.at(position);
  }

  /** Its number among those of its site; -1 where `occurrence` tells it. */
  execution(position: number): number {
    return this.columns.execution.at(position);
  }

  /** The iteration of the outermost loop, -1 where it is not known. */
  step(position: number): number {
    return this.columns.step.at(position);
  }

  /** Flat, over the loops inside that; -1 where there is none. */
  inner(position: number): number {
    return this.columns.inner.at(position);
  }

  /** Its place in `RunStore.devices`, -1 where it is not known. */
  device(position: number): number {
    return this.columns.device.at(position);
  }

  phantom(position: number): boolean {
    return this.columns.phantom.at(position) > 0;
  }
}
