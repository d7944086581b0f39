/**
 * The runs of one kernel, as it last sent them. With ipyparallel, the runs of all engines, whose messages the client
 * forwards.
 */
import { computed, signal } from "@preact/signals";
import type { RunRow, RunsMessage } from "./wire";

export class Runs {
  private readonly rows = signal<readonly RunRow[]>([]);
  /** For each comm, the keys of the runs that it last sent. */
  private readonly keysOf = new Map<string, readonly string[]>();
  /** All runs, the newest first. */
  readonly newestFirst = computed(() => [...this.rows.value].reverse());
  readonly newest = computed(() => this.rows.value.at(-1));

  /** Takes a message of `comm`. Returns whether a new run has begun. */
  apply({ keys, runs }: RunsMessage, comm = ""): boolean {
    const known = new Map(this.rows.value.map((row) => [row.key, row]));
    const before = known.size;
    for (const row of runs) known.set(row.key, row);
    const begun = known.size > before;
    this.keysOf.set(comm, keys);
    const all = new Set([...this.keysOf.values()].flat());
    this.rows.value = [...all].flatMap((key) => known.get(key) ?? []);
    return begun;
  }

  has(key: string): boolean {
    return this.rows.value.some((row) => row.key === key);
  }

  /** Forgets a comm that was closed, because another comm sends its runs. */
  replaced(comm: string): void {
    this.keysOf.delete(comm);
  }

  /** Forgets all runs, because the kernel has restarted. */
  clear(): void {
    this.keysOf.clear();
    this.rows.value = [];
  }
}
