/** Histograms of the elements of an array over the events, as columns of a heat map or hills of a ridge plot. */
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, value as number } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { Histograms } from "../../transport/wire";
import { scaleOf } from "./colours";
import { type Cell, HeatMap } from "./HeatMap";
import { Ridge } from "./Ridge";
import type { ArrayValue } from "./values";

/** Milliseconds between two requests while new events come. */
const REFRESH_MS = 1000;

interface Props {
  run: RunStore;
  ui: UiState;
  array: ArrayValue;
  dark: boolean;
}

const KINDS = [
  ["heat map", "A column for each time: the darker, the more elements"],
  ["ridge", "A hill for each time, one behind the other"],
] as const;

/** Whether panels of this page show the ridge plot. */
const isRidge = signal(false);

export function Spread({ run, ui, array, dark }: Props) {
  run.watch();
  const [cell, setCell] = useState<Cell | null>(null);
  const found = useHistograms(run, array);
  if (typeof found === "string") return <p class="slice muted">{found}</p>;
  const { bins, counts, event, low, high, odd, of } = found;
  const label = `Histograms of ${array.name} over ${count(event.length)} of ${count(of)} times, from ${number(low)} to ${number(high)}`;
  const width = (high - low) / bins;
  const words = ({ row, column }: Cell) => {
    const from = low + row * width;
    const n = counts[column * bins + row] ?? 0;
    return `line ${event[column]}: ${count(n)} from ${number(from)} to ${number(from + width)}`;
  };
  const bad = odd.reduce((a, b) => a + b, 0);
  return (
    <div class="slice" data-testid="spread" data-events={event.length}>
      <div class="spread-kinds">
        {KINDS.map(([name, title], i) => (
          <button
            key={name}
            type="button"
            class="toggle"
            title={title}
            aria-pressed={isRidge.value === Boolean(i)}
            onClick={() => {
              setCell(null);
              isRidge.value = Boolean(i);
            }}
          >
            {name}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the slider of firings does the same by keyboard */}
      <div
        class="slice-picture"
        onDblClick={() => {
          if (cell) ui.moment.value = event[cell.column] ?? null;
        }}
      >
        {isRidge.value ? (
          <Ridge found={found} dark={dark} label={label} onRead={setCell} />
        ) : (
          <Heat found={found} dark={dark} label={label} onRead={setCell} />
        )}
      </div>
      <output class="slice-line mono number">
        {cell ? words(cell) : label}
        {bad > 0 && !cell && <span class="bad-text"> · {count(bad)} not finite</span>}
      </output>
    </div>
  );
}

interface HeatProps {
  found: Histograms;
  dark: boolean;
  label: string;
  onRead: (cell: Cell | null) => void;
}

function Heat({ found, dark, label, onRead }: HeatProps) {
  const { bins, counts, event, low, high } = found;
  const pixels = new Float32Array(counts.length);
  // The greatest number is at the top. The logarithm makes rare numbers visible.
  counts.forEach((n, i) => {
    pixels[(bins - 1 - (i % bins)) * event.length + Math.floor(i / bins)] = Math.log1p(n);
  });
  const scale = scaleOf({ stats: { min: 0, max: pixels.reduce((a, b) => Math.max(a, b), 0) } }, dark);
  const read = (cell: Cell | null) => onRead(cell && { ...cell, row: bins - 1 - cell.row });
  return (
    <>
      <HeatMap slice={{ rows: bins, columns: event.length, pixels }} scale={scale} label={label} onRead={read} />
      <div class="colour-bar mono number" aria-hidden="true">
        <span />
        <small>{number(high)}</small>
        <small>{number((low + high) / 2)}</small>
        <small>{number(low)}</small>
      </div>
    </>
  );
}

/** Returns the newest histograms that the kernel has sent, or why there are none. */
function useHistograms(run: RunStore, { site, value }: ArrayValue): Histograms | string {
  const [found, setFound] = useState<Histograms | string>("Loading …");
  const asked = useRef(-1);
  const fired = run.fired.get(site.id) ?? 0;
  useEffect(() => {
    if (asked.current === fired) return;
    const timer = setTimeout(
      () => {
        asked.current = fired;
        run.ask({ type: "histograms", site: site.id, value }, (answer) => {
          if (typeof answer === "string" || answer.type === "histograms") setFound(answer);
        });
      },
      asked.current < 0 ? 0 : REFRESH_MS,
    );
    return () => clearTimeout(timer);
  }, [fired]);
  return found;
}
