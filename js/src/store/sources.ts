/** The files that the run's code stands in, as the kernel has them. Each is asked for once. */
import type { Message, Source } from "../transport/wire";

/** A file, or why there is none. */
export type SourceAnswer = Source | string;
type Ask = (file: string, answer: (answer: Message | string) => void) => void;

export class Sources {
  private readonly kept = new Map<string, SourceAnswer | null>();

  constructor(
    private readonly ask: Ask,
    private readonly changed: () => void,
  ) {}

  /** The file, if it is here, or why it will not be; else it is asked for, where somebody `isThere` to answer. */
  get(file: string, isThere: boolean): SourceAnswer | undefined {
    const found = this.kept.get(file);
    if (found === undefined && isThere) {
      this.kept.set(file, null);
      this.ask(file, (answer) => {
        this.kept.set(file, typeof answer === "string" ? answer : (answer as Source));
        this.changed();
      });
    }
    return found ?? undefined;
  }

  /** No answer will come; what failed may be tried again. */
  forget(): void {
    for (const [file, answer] of this.kept) if (typeof answer !== "object" || !answer) this.kept.delete(file);
  }
}
