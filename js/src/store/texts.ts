/**
 * The lines known, by event number, and which of the others to ask the kernel for. A batch brings only its newest
 * lines (`transport/wire.py`); the views name what they show, `request` asks for what is missing of it.
 */

const CHUNK = 200;
const MOST_KEPT = 50_000;
const MOST_ASKED = 4;

export class Texts {
  private readonly lines = new Map<number, string>();
  private readonly asked = new Set<number>();
  /** By chunk, where the answer ended: a chunk may be asked for again once it has more. */
  private readonly answered = new Map<number, number>();

  constructor(private readonly ask: (first: number, count: number) => void) {}

  get size(): number {
    return this.lines.size;
  }

  get(number: number): string | undefined {
    return this.lines.get(number);
  }

  add(texts: ReadonlyMap<number, string>, first: number): void {
    for (const [row, text] of texts) this.lines.set(first + row, text);
    for (const number of this.lines.keys()) {
      if (this.lines.size <= MOST_KEPT) break;
      this.lines.delete(number);
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

  /** The kernel has answered for `count` lines from `first` on, with those it still had. */
  settle(first: number, count: number): void {
    const chunk = Math.floor(first / CHUNK);
    this.asked.delete(chunk);
    this.answered.set(chunk, first + count);
  }
}
