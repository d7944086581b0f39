/** The order and the names of the runs in the table. */
import type { RunRow, Sent } from "../../store/rows";

export const COLUMNS = ["run", "time", "steps", "last", "ms", "findings"] as const;
export type Column = (typeof COLUMNS)[number];

export interface Order {
  by: Column;
  descending: boolean;
}

/** The default order: newest first. */
export const NEWEST: Order = { by: "time", descending: true };

/** Returns the text that identifies a run for the user: its name, otherwise its code. */
export const runLabel = ({ name, title }: RunRow): string => name || title;

const KEYS: Record<Column, (row: RunRow) => string | number> = {
  run: runLabel,
  time: ({ started }) => started,
  steps: ({ steps }) => steps ?? 0,
  last: ({ last }) => number(last),
  ms: ({ step_ms }) => step_ms ?? Number.NaN,
  findings: ({ findings }) => findings ?? 0,
};

/** Converts a sent number; NaN if there is none. */
export function number(sent: Sent | null | undefined): number {
  return sent === null || sent === undefined ? Number.NaN : Number(sent);
}

/** Returns the rows in order. Rows without a comparable value, such as a NaN loss, are last in either direction. */
export function inOrder(rows: readonly RunRow[], { by, descending }: Order): RunRow[] {
  const key = KEYS[by];
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (typeof left === "string" || typeof right === "string")
      return sign * String(left).localeCompare(String(right), undefined, { numeric: true });
    const missing = Number(Number.isNaN(left)) - Number(Number.isNaN(right));
    return missing || sign * (left - right) || b.started - a.started;
  });
}

/**
 * Returns the order after a click on a column: reversed for the same column, otherwise the largest first, or A to Z for
 * names.
 */
export function orderedBy(by: Column, before: Order): Order {
  return before.by === by ? { by, descending: !before.descending } : { by, descending: by !== "run" };
}

/** Numbers the runs with the same cell and name; the other runs have no entry. */
export function numbersOfSame(rows: readonly RunRow[]): Map<string, number> {
  const same = new Map<string, RunRow[]>();
  for (const row of rows) {
    const called = `${row.cell ?? ""} ${runLabel(row)}`;
    same.set(called, [...(same.get(called) ?? []), row]);
  }
  const several = [...same.values()].filter(({ length }) => length > 1);
  return new Map(
    several.flatMap((alike) => alike.sort((a, b) => a.started - b.started).map(({ key }, i) => [key, i + 1] as const)),
  );
}
