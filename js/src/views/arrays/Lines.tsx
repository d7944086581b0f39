/** The rows of a slice as lines, if there are few enough to distinguish. */
import { plural, value } from "../../kit/format";
import { siteColour } from "../../kit/theme";
import type { ArraySlice } from "../../transport/wire";

const MOST_ROWS = 8;

/** Whether an array of this shape is easier to read as lines than as a picture. */
export function mayBeLines(shape: readonly number[]): boolean {
  const [rows, columns] = [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
  return columns > 1 && rows <= MOST_ROWS;
}

export function Lines({ slice, name }: { slice: ArraySlice; name: string }) {
  const { pixels, rows, columns, stats, channels = 1 } = slice;
  const [low, high] = [stats.min ?? 0, stats.max ?? 0];
  const y = (number: number) => (high > low ? (high - number) / (high - low) : 0.5);
  const path = (row: number) =>
    Array.from({ length: columns }, (_, column) => {
      const number = pixels[(row * columns + column) * channels] as number;
      const before = pixels[(row * columns + column - 1) * channels] as number;
      if (!Number.isFinite(number)) return "";
      return `${column > 0 && Number.isFinite(before) ? "L" : "M"}${column} ${y(number)}h0`;
    }).join("");
  return (
    <figure class="lane-lines mono number">
      <svg
        viewBox={`0 -0.05 ${columns - 1} 1.1`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: ${plural(columns, "value")} from ${value(low)} to ${value(high)}`}
      >
        {Array.from({ length: rows }, (_, row) => (
          <path key={row} d={path(row)} style={{ stroke: `var(${siteColour(row)})` }} />
        ))}
      </svg>
      <figcaption>
        <small>{value(high)}</small>
        <small>{value(low)}</small>
      </figcaption>
    </figure>
  );
}
