/**
 * The events of each site or device as ticks, with the shown moment. Where there are more events, the tick is darker.
 */
import { useLayoutEffect, useRef } from "preact/hooks";
import { plural } from "../../kit/format";
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
  by: "site" | "device";
  /** The ids of the sites or devices, from top to bottom. */
  rows: number[];
  seen: Stretch;
  dark: boolean;
}

export function EventTicks({ run, ui, by, rows, seen, dark }: Props) {
  run.watch();
  const canvas = useRef<HTMLCanvasElement>(null);
  const pressedAt = useRef(0);
  const { width } = useSize(canvas);
  const height = Math.max(1, rows.length * ROW);
  const selected = ui.event.value;
  const moment = ui.moment.value;

  // `dark` changes the computed colours.
  useLayoutEffect(() => {
    const context = clearCanvas(canvas.current, width, height);
    if (!context) return;
    const element = context.canvas;
    drawTicks(context, element, run, by, rows, seen, width);
    const rule = (at: number, colour: string) => {
      if (at < 0) return;
      context.globalAlpha = 1;
      context.fillStyle = colourAt(element.parentElement ?? element, colour);
      context.fillRect(((run.log.time(at) - seen.from) * width) / (seen.to - seen.from), 0, 1.5, height);
    };
    rule(selected === null ? -1 : run.log.find(selected), "--accent");
    rule(moment === null ? -1 : run.log.lowerBound(moment + 1) - 1, "--bad");
  }, [run.log.length, run.next, seen.from, seen.to, width, height, moment, selected, dark]);

  return (
    <canvas
      ref={canvas}
      class="event-ticks"
      data-testid={`${by}-ticks`}
      style={{ height: `${height}px` }}
      role="img"
      aria-label={`${plural(run.merged.received, "print")} of ${plural(rows.length, by === "site" ? "place" : by)}`}
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
  by: Props["by"],
  rows: number[],
  seen: Stretch,
  width: number,
): void {
  const density = densityOf(run.log, by, seen, width);
  const most = Math.log1p(Math.max(1, ...rows.map((id) => density.get(id)?.reduce((a, b) => Math.max(a, b), 0) ?? 0)));
  rows.forEach((id, row) => {
    const colour = by === "site" ? siteColour(run.rank.get(id) ?? 0) : "--fg2";
    context.fillStyle = colourAt(element.parentElement ?? element, colour);
    density.get(id)?.forEach((n, pixel) => {
      if (n === 0) return;
      context.globalAlpha = 0.35 + (0.65 * Math.log1p(n)) / most;
      context.fillRect(pixel, row * ROW + (ROW - TICK) / 2, 1, TICK);
    });
  });
}
