/**
 * The events that have arrived, as columns; an entry takes a few dozen bytes. `run.ts` appends, the views read.
 *
 * An entry is an event or a gap. A gap stands for events that the kernel dropped before it sent them, or that this log
 * dropped to limit its memory. A *position* is the index of an entry in the log. A *number* is the index of an event in
 * the run.
 */
import type { EventColumns } from "../transport/wire";
import { Growable } from "./growable";

const GAP = 0xffff_ffff;

type Columns = { [Name in keyof EventColumns]: Growable<EventColumns[Name]> };

export class EventLog {
  private readonly columns: Columns = {
    site: new Growable(Uint32Array),
    time: new Growable(Float64Array),
    /** For a gap: the number of events that it replaces. */
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

  /** Appends the events from `first + from` on. Returns the position of the first one. */
  append(events: EventColumns, first: number, from: number): number {
    const position = this.length;
    for (const [name, column] of Object.entries(this.columns) as [keyof Columns, Growable<Int32Array>][]) {
      column.append((events[name] as Int32Array).subarray(from));
    }
    for (let i = from; i < events.site.length; i++) this.numbers.push(first + i);
    return position;
  }

  /** Appends a gap for the events `first .. first + count - 1`. Returns its position. */
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

  /** Replaces the oldest `count` entries with one gap. */
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

  /** Returns the number of events that a gap replaces; 0 if the entry is an event. */
  gapCount(position: number): number {
    return this.site(position) === GAP ? this.occurrence(position) : 0;
  }

  number(position: number): number {
    return this.numbers.at(position);
  }

  /** Returns the position of event `number`; -1 if it is not kept. */
  find(number: number): number {
    const position = this.numbers.find(number);
    return position >= 0 && this.gapCount(position) === 0 ? position : -1;
  }

  /** Returns the position of the first entry that does not begin before event `number`. */
  lowerBound(number: number): number {
    return this.numbers.lowerBound(number);
  }

  /** Returns the position of the first entry at `time` or later; the last position if there is none. */
  atTime(time: number): number {
    return Math.min(this.columns.time.lowerBound(time), Math.max(0, this.length - 1));
  }

  /**
   * Returns the number of the last event that has the same time as event `number`. One execution of a tap records such
   * events together.
   */
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

  /** The index of the event's type among the types of its site. */
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

  /** The index of the event's execution among the executions of its site; -1 if it equals `occurrence`. */
  execution(position: number): number {
    return this.columns.execution.at(position);
  }

  /** The iteration of the outermost loop; -1 if it is not known. */
  step(position: number): number {
    return this.columns.step.at(position);
  }

  /** The flat index over the loops inside the outermost one; -1 if there are none. */
  inner(position: number): number {
    return this.columns.inner.at(position);
  }

  /** The index of the event's device in `RunStore.devices`; -1 if it is not known. */
  device(position: number): number {
    return this.columns.device.at(position);
  }

  phantom(position: number): boolean {
    return this.columns.phantom.at(position) > 0;
  }
}
