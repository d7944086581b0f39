/** The histograms of a watched value over the steps: a column a step, large magnitudes outside, the positive ones above. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { plural } from "../../kit/format";
import type { WatchSite } from "../../store/watched";
import { barsOf, inWords, type Over, overSteps } from "./histogram";
import type { Seen } from "./reading";

interface Props {
  site: WatchSite;
  found: Seen;
  /** Changes when it is to be drawn again. */
  newest: number;
  dark: boolean;
}

export function Magnitudes({ site, found: { table, row, get }, newest, dark }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const bars = useMemo(() => barsOf(site.values), [site]);
  const over = useMemo(() => overSteps(table, bars, row), [table, bars, row, newest]);
  useLayoutEffect(() => draw(canvas.current, over, bars.length), [over, dark]);
  if (bars.length === 0 || over.columns === 0) return null;
  const [first, last] = [bars[0]?.from, bars.at(-1)?.from];
  return (
    <figure class="magnitudes" data-testid="magnitudes">
      <div class="magnitudes-room">
        <canvas
          ref={canvas}
          width={over.columns}
          height={bars.length}
          role="img"
          aria-label={`Magnitudes of ${site.watch.name} over ${plural(over.columns, "step")}. At this step: ${inWords(bars, get)}`}
        />
        {over.at !== null && <span class="magnitudes-at" style={{ left: `${over.at * 100}%` }} />}
      </div>
      <figcaption class="muted">
        magnitudes over steps: {last} and more above, zero in the middle, {first} and more below
      </figcaption>
    </figure>
  );
}

function draw(canvas: HTMLCanvasElement | null, { columns, shares }: Over, bars: number): void {
  const context = canvas?.getContext("2d");
  if (!canvas || !context || columns === 0) return;
  context.clearRect(0, 0, columns, bars);
  context.fillStyle = getComputedStyle(canvas).color;
  for (let column = 0; column < columns; column++) {
    for (let bar = 0; bar < bars; bar++) {
      const share = shares[column * bars + bar] as number;
      if (share === 0) continue;
      // One element of a thousand is to be seen as well.
      context.globalAlpha = Math.min(1, 0.15 + 0.85 * Math.sqrt(share));
      context.fillRect(column, bars - 1 - bar, 1, 1);
    }
  }
}
