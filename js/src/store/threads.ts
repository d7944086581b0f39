/** What the threads of a run did: spans of time, in the order in which they ended. */
import type { Batch } from "../transport/wire";
import { Growable } from "./growable";

const MOST_SPANS = 200_000;

export interface ThreadSpan {
  /** The id of a site; -1 for a wait for effects, -2 for a wait for outputs. */
  site: number;
  /** Index into `Threads.names`. */
  thread: number;
  from: number;
  to: number;
}

export class Threads {
  names: string[] = [];
  /** The number of the next span expected. */
  next = 0;
  /** The indices of the threads that ran a host function. */
  readonly busy = new Set<number>();
  private readonly columns = {
    site: new Growable<Int32Array>(Int32Array),
    thread: new Growable<Int32Array>(Int32Array),
    from: new Growable<Float64Array>(Float64Array),
    to: new Growable<Float64Array>(Float64Array),
  };

  /**
   * Appends the spans of a batch. Returns false if spans before it are missing. The answer to `sync` replaces all
   * spans.
   */
  append({ threads, first_span: first, spans }: Batch): boolean {
    const complete = first <= this.next || this.next === 0;
    const { site, thread, from, to } = this.columns;
    if (first < this.next) for (const column of [site, thread, from, to]) column.length = 0;
    site.append(spans.site);
    thread.append(spans.thread);
    from.append(spans.from);
    to.append(spans.to);
    spans.site.forEach((id, i) => {
      if (id >= 0) this.busy.add(spans.thread[i] as number);
    });
    if (this.length > MOST_SPANS) for (const column of [site, thread, from, to]) column.dropFirst(MOST_SPANS / 2);
    this.names = threads;
    this.next = first + spans.site.length;
    return complete;
  }

  get length(): number {
    return this.columns.site.length;
  }

  at(i: number): ThreadSpan {
    const { site, thread, from, to } = this.columns;
    return { site: site.at(i), thread: thread.at(i), from: from.at(i), to: to.at(i) };
  }

  /** Returns about how many spans ended before `time`: the spans of different threads are only nearly sorted by end. */
  endedBefore(time: number): number {
    return this.columns.to.lowerBound(time);
  }

  /**
   * Returns the name of a thread. The threads of XLA's pool are numbered from 1, because their ids have fifteen digits.
   */
  nameOf(thread: number): string {
    const name = this.names[thread] ?? "";
    return name.startsWith("XLA ")
      ? `XLA ${this.names.slice(0, thread + 1).filter((n) => n.startsWith("XLA ")).length}`
      : name;
  }

  waits(): ThreadSpan[] {
    const found: ThreadSpan[] = [];
    this.columns.site.view().forEach((site, i) => {
      if (site < 0) found.push(this.at(i));
    });
    return found;
  }
}
