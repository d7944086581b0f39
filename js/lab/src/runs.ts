/** The runs of one kernel, as it last told of them: it, or each of several engines whose messages its client hands on. */
import { computed, signal } from "@preact/signals";
import type { RunRow, RunsMessage } from "./wire";

export class Runs {
  private readonly rows = signal<readonly RunRow[]>([]);
  /** By comm, the keys of the runs that it told of last. */
  private readonly told = new Map<string, readonly string[]>();
  /** The newest first. */
  readonly newestFirst = computed(() => [...this.rows.value].reverse());
  readonly newest = computed(() => this.rows.value.at(-1));

  /** Whether a run has begun that was not known. `comm` is the comm that told. */
  apply({ keys, runs }: RunsMessage, comm = ""): boolean {
    const known = new Map(this.rows.value.map((row) => [row.key, row]));
    const before = known.size;
    for (const row of runs) known.set(row.key, row);
    const begun = known.size > before;
    this.told.set(comm, keys);
    const all = new Set([...this.told.values()].flat());
    this.rows.value = [...all].flatMap((key) => known.get(key) ?? []);
    return begun;
  }

  has(key: string): boolean {
    return this.rows.value.some((row) => row.key === key);
  }

  /** The comm is closed, and another one tells of its runs. */
  replaced(comm: string): void {
    this.told.delete(comm);
  }

  /** The kernel has begun anew and knows none of them. */
  clear(): void {
    this.told.clear();
    this.rows.value = [];
  }
}
