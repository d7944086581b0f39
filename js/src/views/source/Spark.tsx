/** A small chart of a statistic over the steps, with the shown moment and marks where something was not finite. */
import { useMemo } from "preact/hooks";
import { decimate } from "../../store/decimate";
import type { WatchTable } from "../../store/watched";

const WIDTH = 64;
const HEIGHT = 16;

interface Props {
  table: WatchTable;
  statistic: string;
  /** A number that changes when the chart must be drawn again. */
  newest: number;
  colour: string;
  /** The selected row; null for the newest. */
  at: number | null;
}

export function Spark({ table, statistic, newest, colour, at }: Props) {
  const { line, bad } = useMemo(() => pathsOf(table, statistic), [table, statistic, newest]);
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <path class="spark-bad" d={bad} />
      <path d={line} style={{ stroke: `var(${colour})` }} />
      {at !== null && <path class="spark-at" d={`M${across(at, table)} 0v${HEIGHT}`} />}
    </svg>
  );
}

export function pathsOf(table: WatchTable, statistic: string): { line: string; bad: string } {
  const y = table.column(statistic);
  const kept = decimate(y, 2 * WIDTH);
  const values = kept.map((row) => y[row] as number);
  const low = Math.min(...values);
  const range = Math.max(...values) - low || 1;
  const points = kept.map((row, i) => {
    const height = HEIGHT - 2 - ((HEIGHT - 4) * ((values[i] as number) - low)) / range;
    return `${across(row, table)} ${height.toFixed(1)}`;
  });
  let bad = "";
  const stretch = Math.ceil(table.length / WIDTH);
  for (let row = 0; row < table.length; row += stretch) {
    const isBad = table.anyBad(row, Math.min(row + stretch, table.length) - 1);
    if (isBad) bad += `M${across(row, table)} 0v${HEIGHT}`;
  }
  // A single point is drawn as a dot.
  const line = points.length > 0 ? `M${points.join("L")}${points.length === 1 ? "h1" : ""}` : "";
  return { line, bad };
}

function across(row: number, { length }: WatchTable): string {
  return (1 + ((WIDTH - 2) * row) / Math.max(1, length - 1)).toFixed(0);
}
