/** A chart on a canvas that the user zooms by dragging. `drawn.ts` computes what it draws, `paint.ts` draws it. */
import { clearCanvas } from "../../kit/size";
import type { Drawn, Range, Reading } from "./drawn";
import { readingAt } from "./drawn";
import {
  type ChartColours,
  type ChartStyle,
  frameOf,
  HEADING,
  type Pen,
  paint,
  paintHeading,
  type Word,
} from "./paint";
import { SvgPen } from "./svg";

const SHORTEST_DRAG = 4;
const PNG_SCALE = 2;

interface Listeners {
  onHover(reading: Reading | null): void;
  /** The user has zoomed; null shows all. */
  onZoom(zoom: Range | null): void;
  /** The user has clicked a position of the x axis. */
  onPick?(x: number): void;
}

export class Chart {
  private readonly canvas = document.createElement("canvas");
  private readonly listening = new AbortController();
  private readonly observer = new ResizeObserver(() => this.draw());
  private drawn: Drawn | null = null;
  private style: ChartStyle = { logarithmic: false, axis: "step" };
  private colours: ChartColours | null = null;
  private hover: number | null = null;
  private dragFrom: number | null = null;

  constructor(
    private readonly target: HTMLElement,
    private readonly listeners: Listeners,
  ) {
    target.append(this.canvas);
    this.observer.observe(target);
    const listen = (event: string, listener: (event: PointerEvent) => void) =>
      this.canvas.addEventListener(event, listener as EventListener, { signal: this.listening.signal });
    listen("pointermove", (event) => this.point(event.offsetX));
    listen("pointerleave", () => this.point(null));
    listen("dblclick", () => listeners.onZoom(null));
    listen("pointerdown", (event) => {
      this.dragFrom = event.button === 0 ? event.offsetX : null;
      this.canvas.setPointerCapture(event.pointerId);
    });
    listen("pointerup", (event) => this.drop(event.offsetX));
  }

  update(drawn: Drawn, style: ChartStyle, colours: ChartColours): void {
    [this.drawn, this.style, this.colours] = [drawn, style, colours];
    this.draw();
    // JupyterLab hides the page while it changes its theme, for too short a time for the observer to notice.
    if (this.target.clientWidth === 0) requestAnimationFrame(() => this.draw());
  }

  destroy(): void {
    this.listening.abort();
    this.observer.disconnect();
    this.canvas.remove();
  }

  /** The visible part of the x axis. */
  get seen(): Range {
    return [this.drawn?.from ?? 0, this.drawn?.to ?? 1];
  }

  /** Makes a PNG of the chart with a heading, on the background `ground`. It has twice the resolution of the screen. */
  toPng(heading: readonly Word[], ground: string, done: (png: Blob | null) => void): void {
    const copy = document.createElement("canvas");
    const { clientWidth, clientHeight } = this.target;
    [copy.width, copy.height] = [clientWidth * PNG_SCALE, (clientHeight + HEADING) * PNG_SCALE];
    const context = copy.getContext("2d");
    if (!context) return;
    context.scale(PNG_SCALE, PNG_SCALE);
    this.picture(context, heading, ground);
    copy.toBlob(done);
  }

  toSvg(heading: readonly Word[], ground: string): string {
    const { clientWidth, clientHeight } = this.target;
    const pen = new SvgPen(clientWidth, clientHeight + HEADING);
    this.picture(pen, heading, ground);
    return pen.text();
  }

  private picture(pen: Pen, heading: readonly Word[], ground: string): void {
    const { drawn, colours, target } = this;
    const measured = this.canvas.getContext("2d");
    if (!drawn || !colours || !measured) return;
    const frame = paintHeading(pen, frameOf(target), heading, ground, (text) => measured.measureText(text).width);
    paint(pen, frame, drawn, this.style, colours, { hover: null, dragFrom: null });
  }

  private point(at: number | null): void {
    this.hover = at;
    this.listeners.onHover(at === null || !this.drawn ? null : readingAt(this.drawn, this.valueAt(at)));
    this.draw();
  }

  private drop(at: number): void {
    const from = this.dragFrom;
    this.dragFrom = null;
    if (from === null) return;
    if (Math.abs(at - from) < SHORTEST_DRAG) {
      this.listeners.onPick?.(this.valueAt(at));
      return;
    }
    const [low, high] = [Math.min(from, at), Math.max(from, at)].map((pixel) => this.valueAt(pixel)) as [
      number,
      number,
    ];
    this.listeners.onZoom([low, high]);
  }

  private valueAt(pixel: number): number {
    const { left, width } = frameOf(this.target);
    const [from, to] = this.seen;
    return from + (Math.min(Math.max(0, pixel - left), width) / width) * (to - from);
  }

  private draw(): void {
    const { canvas, drawn, colours, target } = this;
    const context = clearCanvas(canvas, target.clientWidth, target.clientHeight);
    if (!drawn || !colours || !context) return;
    canvas.dataset.seen = this.seen.join(" ");
    paint(context, frameOf(target), drawn, this.style, colours, { hover: this.hover, dragFrom: this.dragFrom });
  }
}
