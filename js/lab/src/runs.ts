/** The runs of one kernel, as it last told of them. */
import { computed, signal } from "@preact/signals";
import type { RunRow, RunsMessage } from "./wire";

export class Runs {
  private readonly rows = signal<readonly RunRow[]>([]);
  /** The newest first. */
  readonly newestFirst = computed(() => [...this.rows.value].reverse());
  readonly newest = computed(() => this.rows.value.at(-1));

  /** Whether a run has begun that was not known. */
  apply({ keys, runs }: RunsMessage): boolean {
    const known = new Map(this.rows.value.map((row) => [row.key, row]));
    const before = known.size;
    for (const row of runs) known.set(row.key, row);
    const begun = known.size > before;
    this.rows.value = keys.flatMap((key) => known.get(key) ?? []);
    return begun;
  }

  has(key: string): boolean {
    return this.rows.value.some((row) => row.key === key);
  }

  /** The kernel has begun anew and knows none of them. */
  clear(): void {
    this.rows.value = [];
  }
}
