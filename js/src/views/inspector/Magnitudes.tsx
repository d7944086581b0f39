/** The histograms of a watched value over the steps: a column for each step, on an axis of signed magnitudes. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { brief, count, plural } from "../../kit/format";
import { ticks } from "../../kit/ticks";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { WatchSite } from "../../store/watched";
import type { Seen } from "../source/reading";
import { type Bar, barsOf, edgesOf, inWords, type Over, overSteps, usedOf } from "./histogram";

const MOST_EDGES = 6;
/** The least distance between 0 and another label, as a share of the axis. */
const LEAST_APART = 0.08;
const MOST_STEPS = 4;

interface Props {
  run: RunStore;
  ui: UiState;
  site: WatchSite;
  found: Seen;
  /** A number that changes when the picture must be drawn again. */
  newest: number;
  dark: boolean;
}

export function Magnitudes({ ui, site, found: { table, row, get }, newest, dark }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const all = useMemo(() => barsOf(site.values), [site]);
  const whole = useMemo(() => overSteps(table, all, row), [table, all, row, newest]);
  const [from, to] = usedOf(whole, all.length);
  const bars = all.slice(from, to);
  useLayoutEffect(() => draw(canvas.current, whole, all.length, from, to), [whole, from, to, dark]);
  if (all.length === 0 || whole.columns === 0) return null;
  const last = table.total - 1;
  return (
    <figure class="magnitudes" data-testid="magnitudes">
      <Edges bars={bars} />
      <div class="magnitudes-room">
        <canvas
          ref={canvas}
          width={whole.columns}
          height={bars.length}
          role="img"
          aria-label={`Magnitudes of ${site.watch.name} over ${plural(whole.columns, "step")}. At this step: ${inWords(all, get)}`}
          onClick={(event) => {
            const share = event.offsetX / Math.max(1, event.currentTarget.clientWidth);
            const chosen = Math.min(table.length - 1, Math.floor(share * table.length));
            ui.moment.value = chosen === table.length - 1 ? null : table.event(chosen);
          }}
        />
        {whole.at !== null && <span class="magnitudes-at" style={{ left: `${whole.at * 100}%` }} />}
      </div>
      <span />
      <div class="axis-across number muted" aria-hidden="true">
        {ticks(0, last, MOST_STEPS)
          .filter((step) => step < 0.9 * last)
          .map((step) => (
            <small key={step} style={{ left: `${(100 * (step + 0.5)) / (last + 1)}%` }}>
              {count(step)}
            </small>
          ))}
        <small class="last">step {count(last)}</small>
      </div>
    </figure>
  );
}

/** The labels of the axis: the numbers at the edges between magnitudes. */
function Edges({ bars }: { bars: readonly Bar[] }) {
  const edges = edgesOf(bars);
  const interval = Math.ceil(edges.length / MOST_EDGES);
  const middle = edges.find(({ y }) => y === 0)?.at ?? Number.NaN;
  return (
    <div class="axis-up number muted" aria-hidden="true">
      {edges
        .filter(({ y, at }, i) => y === 0 || (i % interval === 0 && !(Math.abs(at - middle) < LEAST_APART)))
        .map(({ y, at }) => (
          <small key={y} style={{ bottom: `${100 * at}%` }}>
            {brief(y)}
          </small>
        ))}
    </div>
  );
}

function draw(
  canvas: HTMLCanvasElement | null,
  { columns, shares }: Over,
  bars: number,
  from: number,
  to: number,
): void {
  const context = canvas?.getContext("2d");
  if (!canvas || !context || columns === 0) return;
  context.clearRect(0, 0, columns, to - from);
  context.fillStyle = getComputedStyle(canvas).color;
  for (let column = 0; column < columns; column++) {
    for (let bar = from; bar < to; bar++) {
      const share = shares[column * bars + bar] as number;
      if (share === 0) continue;
      // The square root makes one element of a thousand visible.
      context.globalAlpha = Math.min(1, 0.15 + 0.85 * Math.sqrt(share));
      context.fillRect(column, to - 1 - bar, 1, 1);
    }
  }
}
