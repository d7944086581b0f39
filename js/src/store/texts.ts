/**
 * The lines of events, by event number, and the requests for missing ones. A batch brings only its newest lines
 * (`transport/wire.py`). `request` gets the lines that a view shows. `requestAll` gets all lines for a search, block by
 * block, the newest first.
 */

import { isStyled, plain } from "../kit/escapes";

const CHUNK = 200;
/** The most lines in one answer of the kernel. */
const BLOCK = 2000;
const MOST_KEPT = 200_000;
const MOST_ASKED = 4;

export class Texts {
  private readonly lines = new Map<number, string>();
  /** The lines that have escape codes of colours, unchanged. */
  private readonly styled = new Map<number, string>();
  private readonly asked = new Set<number>();
  /** For each chunk, the event at which its answer ended. A chunk is requested again once it has more events. */
  private readonly answered = new Map<number, number>();
  /** The first event of the requested block; -1 if none is pending. */
  private block = -1;
  /** The ranges `[first, end]` of lines that arrived after their events. */
  readonly late: [number, number][] = [];

  constructor(private readonly ask: (first: number, count: number) => void) {}

  get size(): number {
    return this.lines.size;
  }

  /** Returns the line without escape codes of colours. */
  get(number: number): string | undefined {
    return this.lines.get(number);
  }

  /** Returns the line with its escape codes; undefined if it has none. */
  withStyles(number: number): string | undefined {
    return this.styled.get(number);
  }

  add(texts: ReadonlyMap<number, string>, first: number): void {
    for (const [row, text] of texts) {
      this.lines.set(first + row, plain(text));
      if (isStyled(text)) this.styled.set(first + row, text);
    }
    for (const number of this.lines.keys()) {
      if (this.lines.size <= MOST_KEPT) break;
      this.lines.delete(number);
      this.styled.delete(number);
      this.answered.delete(Math.floor(number / CHUNK));
    }
  }

  /** Requests the chunks of those `numbers` that have no line yet. `end` is the number of events in the run. */
  request(numbers: Iterable<number>, end: number): void {
    for (const number of numbers) {
      const chunk = Math.floor(number / CHUNK);
      if (this.lines.has(number) || this.asked.has(chunk) || number < (this.answered.get(chunk) ?? 0)) continue;
      if (this.asked.size >= MOST_ASKED) return;
      this.asked.add(chunk);
      this.ask(chunk * CHUNK, Math.min(CHUNK, end - chunk * CHUNK));
    }
  }

  /** Requests the newest incomplete block of the events `oldest .. end - 1`. Returns false if all are complete. */
  requestAll(oldest: number, end: number): boolean {
    if (this.block >= 0) return true;
    const least = Math.max(oldest, end - MOST_KEPT + BLOCK);
    for (let first = end - 1 - ((end - 1) % BLOCK); first >= 0 && first + BLOCK > least; first -= BLOCK) {
      const stop = Math.min(first + BLOCK, end);
      if (this.isAnswered(Math.max(first, least), stop)) continue;
      this.block = first;
      this.ask(first, stop - first);
      return true;
    }
    return false;
  }

  /** Notes that the kernel has answered for `count` lines from `first` on. Lines that it no longer has stay missing. */
  settle(first: number, count: number): void {
    if (first === this.block) this.block = -1;
    for (let at = first; at < first + count; at += CHUNK) {
      const chunk = Math.floor(at / CHUNK);
      this.asked.delete(chunk);
      this.answered.set(chunk, Math.min(first + count, (chunk + 1) * CHUNK));
    }
    this.late.push([first, first + count]);
  }

  /** Forgets the pending requests, which will not be answered. */
  forget(): void {
    this.asked.clear();
    this.block = -1;
  }

  private isAnswered(first: number, end: number): boolean {
    for (let number = first; number < end; number++) {
      if (this.lines.has(number)) continue;
      if (number >= (this.answered.get(Math.floor(number / CHUNK)) ?? 0)) return false;
    }
    return true;
  }
}
