/** The events of each site as ticks, the denser the darker, with the moment that is looked at. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { count } from "../../kit/format";
import { clearCanvas, useSize } from "../../kit/size";
import { colourAt, siteColour } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { Stretch } from "./axis";
import { densityOf } from "./density";

const ROW = 20;
const TICK = 13;

interface Props {
  run: RunStore;
  ui: UiState;
  seen: Stretch;
  dark: boolean;
}

export function EventTicks({ run, ui, seen, dark }: Props) {
  run.watch();
  const canvas = useRef<HTMLCanvasElement>(null);
  const pressedAt = useRef(0);
  const { width } = useSize(canvas);
  const sites = [...run.sites.keys()];
  const height = Math.max(1, sites.length * ROW);
  const moment = ui.moment.value;

  // `dark` changes what the colours are worth.
  useLayoutEffect(() => {
    const context = clearCanvas(canvas.current, width, height);
    if (!context) return;
    const element = context.canvas;
    drawTicks(context, element, run, sites, seen, width);
    const at = moment === null ? -1 : run.log.lowerBound(moment + 1) - 1;
    if (at < 0) return;
    context.globalAlpha = 1;
    context.fillStyle = colourAt(element.parentElement ?? element, "--bad");
    context.fillRect(((run.log.time(at) - seen.from) * width) / (seen.to - seen.from), 0, 1.5, height);
  }, [run.log.length, run.next, seen.from, seen.to, width, height, moment, dark]);

  return (
    <canvas
      ref={canvas}
      class="event-ticks"
      data-testid="event-ticks"
      style={{ height: `${height}px` }}
      role="img"
      aria-label={`${count(run.log.length)} events of ${sites.length} sites`}
      onPointerDown={(event) => {
        pressedAt.current = event.clientX;
      }}
      onClick={(event) => {
        if (Math.abs(event.clientX - pressedAt.current) > 3 || run.log.length === 0) return;
        const share = (event.clientX - event.currentTarget.getBoundingClientRect().left) / width;
        ui.moment.value = run.log.number(run.log.atTime(seen.from + share * (seen.to - seen.from)));
      }}
    />
  );
}

function drawTicks(
  context: CanvasRenderingContext2D,
  element: HTMLElement,
  run: RunStore,
  sites: number[],
  seen: Stretch,
  width: number,
): void {
  const density = densityOf(run.log, seen, width);
  const most = Math.log1p(
    Math.max(1, ...[...density.values()].map((bins) => bins.reduce((a, b) => Math.max(a, b), 0))),
  );
  sites.forEach((site, row) => {
    context.fillStyle = colourAt(element.parentElement ?? element, siteColour(run.rank.get(site) ?? 0));
    density.get(site)?.forEach((n, pixel) => {
      if (n === 0) return;
      context.globalAlpha = 0.35 + (0.65 * Math.log1p(n)) / most;
      context.fillRect(pixel, row * ROW + (ROW - TICK) / 2, 1, TICK);
    });
  });
}
