/**
 * The lines known, by event number, and which of the others to ask the kernel for. A batch brings only its newest
 * lines (`transport/wire.py`); the views name what they show, `request` asks for what is missing of it. Whoever
 * searches wants all of them: `requestAll` asks for a block after the other, the newest first.
 */

import { isStyled, plain } from "../kit/escapes";

const CHUNK = 200;
/** What the kernel answers at most. */
const BLOCK = 2000;
const MOST_KEPT = 200_000;
const MOST_ASKED = 4;

export class Texts {
  private readonly lines = new Map<number, string>();
  /** Those with the escape codes of colours, as they came. */
  private readonly styled = new Map<number, string>();
  private readonly asked = new Set<number>();
  /** By chunk, where the answer ended: a chunk may be asked for again once it has more. */
  private readonly answered = new Map<number, number>();
  /** The first event of the block asked for, -1 for none. */
  private block = -1;
  /** The stretches of lines that came later than their events, `[first, end]`. */
  readonly late: [number, number][] = [];

  constructor(private readonly ask: (first: number, count: number) => void) {}

  get size(): number {
    return this.lines.size;
  }

  /** Without the escape codes of colours. */
  get(number: number): string | undefined {
    return this.lines.get(number);
  }

  /** With them; undefined where the line has none. */
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

  /** Asks for the lines of `numbers` that are not here, a chunk each, out of `end` events in all. */
  request(numbers: Iterable<number>, end: number): void {
    for (const number of numbers) {
      const chunk = Math.floor(number / CHUNK);
      if (this.lines.has(number) || this.asked.has(chunk) || number < (this.answered.get(chunk) ?? 0)) continue;
      if (this.asked.size >= MOST_ASKED) return;
      this.asked.add(chunk);
      this.ask(chunk * CHUNK, Math.min(CHUNK, end - chunk * CHUNK));
    }
  }

  /** Asks for the newest block that is not all here, of events `oldest .. end - 1`; false when there is none. */
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

  /** The kernel has answered for `count` lines from `first` on, with those it still had. */
  settle(first: number, count: number): void {
    if (first === this.block) this.block = -1;
    for (let at = first; at < first + count; at += CHUNK) {
      const chunk = Math.floor(at / CHUNK);
      this.asked.delete(chunk);
      this.answered.set(chunk, Math.min(first + count, (chunk + 1) * CHUNK));
    }
    this.late.push([first, first + count]);
  }

  /** No answer will come. */
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
