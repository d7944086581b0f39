/** What the threads of a run were at: stretches of time, in the order in which they ended. */
import type { Batch } from "../transport/wire";
import { Growable } from "./growable";

const MOST = 200_000;

export interface ThreadSpan {
  /** A site; -1 waiting for effects, -2 for outputs. */
  site: number;
  /** Its place in `Threads.names`. */
  thread: number;
  from: number;
  to: number;
}

export class Threads {
  names: string[] = [];
  /** The number of the next span expected. */
  next = 0;
  /** Those of threads that ran a host function. */
  readonly busy = new Set<number>();
  private readonly columns = {
    site: new Growable<Int32Array>(Int32Array),
    thread: new Growable<Int32Array>(Int32Array),
    from: new Growable<Float64Array>(Float64Array),
    to: new Growable<Float64Array>(Float64Array),
  };

  /** Whether none was lost before it. What `sync` brings takes the place of all. */
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
    if (this.length > MOST) for (const column of [site, thread, from, to]) column.dropFirst(MOST / 2);
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

  /** How many ended before `time`, or a little fewer: threads do not end theirs exactly in turn. */
  endedBefore(time: number): number {
    return this.columns.to.lowerBound(time);
  }

  /** Threads of XLA's pool are numbered for the reader; their own numbers have fifteen digits. */
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
