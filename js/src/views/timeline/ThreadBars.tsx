/**
 * The host functions that each thread ran, as bars. They are on one canvas, because there are too many for elements.
 */
import { useLayoutEffect, useRef } from "preact/hooks";
import { plural, seconds } from "../../kit/format";
import { clearCanvas, useSize } from "../../kit/size";
import { colourAt, siteColour } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import type { ThreadSpan } from "../../store/threads";
import type { UiState } from "../../store/ui";
import { siteName } from "../sites/name";
import type { Stretch } from "./axis";

const ROW = 20;
const BAR = 14;
/** The width that a name needs, in pixels. */
const LEAST_FOR_NAME = 34;

interface Props {
  run: RunStore;
  ui: UiState;
  /** The indices of the threads, from top to bottom. */
  rows: number[];
  seen: Stretch;
  dark: boolean;
}

export function ThreadBars({ run, ui, rows, seen, dark }: Props) {
  run.watch();
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(canvas);
  const height = rows.length * ROW;
  const scale = width / (seen.to - seen.from);

  // `dark` changes the computed colours.
  useLayoutEffect(() => {
    const context = clearCanvas(canvas.current, width, height);
    if (context) draw(context, run, rows, seen, scale);
  }, [run.threads.next, rows.length, seen.from, seen.to, width, dark]);

  /** Returns the span under the pointer. */
  const found = (event: PointerEvent | MouseEvent): ThreadSpan | undefined => {
    const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [time, row] = [seen.from + (event.clientX - left) / scale, Math.floor((event.clientY - top) / ROW)];
    const slack = 1 / scale;
    for (const span of spansIn(run, { from: time - slack, to: time + slack })) {
      if (span.thread === rows[row]) return span;
    }
  };
  return (
    <canvas
      ref={canvas}
      class="event-ticks"
      data-testid="thread-bars"
      style={{ height: `${height}px` }}
      role="img"
      aria-label={`Host functions on ${plural(rows.length, "thread")}`}
      onPointerMove={(event) => {
        const span = found(event);
        event.currentTarget.title = span ? `${nameOf(run, span)} ${seconds(span.to - span.from)}` : "";
      }}
      onClick={(event) => {
        const span = found(event);
        if (span) ui.moment.value = run.log.number(run.log.atTime(span.from));
      }}
    />
  );
}

function nameOf(run: RunStore, { site }: ThreadSpan): string {
  const message = run.sites.get(site);
  return message ? siteName(run, message) : "";
}

/** Yields the spans of host functions that overlap the range. */
function* spansIn(run: RunStore, { from, to }: Stretch): Generator<ThreadSpan> {
  for (let i = run.threads.endedBefore(from); i < run.threads.length; i++) {
    const span = run.threads.at(i);
    if (span.site >= 0 && span.from <= to && span.to >= from) yield span;
  }
}

function draw(context: CanvasRenderingContext2D, run: RunStore, rows: number[], seen: Stretch, scale: number): void {
  const element = context.canvas.parentElement ?? context.canvas;
  const ink = colourAt(element, "--bg");
  const colours = new Map<number, string>();
  const ends = new Map<number, number>();
  context.font = "11px system-ui, sans-serif";
  for (const span of spansIn(run, seen)) {
    const row = rows.indexOf(span.thread);
    const [left, right] = [(span.from - seen.from) * scale, (span.to - seen.from) * scale];
    // A bar within a pixel that is already drawn would be invisible.
    if (right < (ends.get(row) ?? -1)) continue;
    const length = Math.max(1, right - left - 0.5);
    ends.set(row, Math.ceil(left + length));
    let colour = colours.get(span.site);
    if (!colour) {
      colour = colourAt(element, siteColour(run.rank.get(span.site) ?? 0));
      colours.set(span.site, colour);
    }
    const top = row * ROW + (ROW - BAR) / 2;
    context.fillStyle = colour;
    context.fillRect(left, top, length, BAR);
    if (length < LEAST_FOR_NAME) continue;
    context.fillStyle = ink;
    context.save();
    context.beginPath();
    context.rect(left, top, length - 3, BAR);
    context.clip();
    context.fillText(nameOf(run, span), Math.max(left, 0) + 4, top + 11);
    context.restore();
  }
}
