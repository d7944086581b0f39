/** The source files of a run's code, as the kernel has them. Each file is requested once. */
import type { Message, Source } from "../transport/wire";

/** A file, or the reason why there is none. */
export type SourceAnswer = Source | string;
type Ask = (file: string, answer: (answer: Message | string) => void) => void;

export class Sources {
  private readonly kept = new Map<string, SourceAnswer | null>();

  constructor(
    private readonly ask: Ask,
    private readonly changed: () => void,
  ) {}

  /**
   * Returns the file, or the reason why there is none. If neither is known, requests the file if `isThere`, and returns
   * undefined.
   */
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

  /** Forgets the pending requests, which will not be answered, and the failed ones, so that they can be tried again. */
  forget(): void {
    for (const [file, answer] of this.kept) if (typeof answer !== "object" || !answer) this.kept.delete(file);
  }
}
