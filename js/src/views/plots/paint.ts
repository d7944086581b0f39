/**
 * Draws a chart: axes, bands, lines, marks, the moment and the pointer.
 *
 * This file has more than 300 lines because all of these share the same scales.
 */
import { tick as axisTick, seconds, value } from "../../kit/format";
import { logTicks, ticks, tickWords } from "../../kit/ticks";
import type { Axis } from "../../store/ui";
import type { Curve, Drawn, Mark } from "./drawn";

export interface ChartColours {
  lines: string[];
  /** For each line, whether it is dashed. */
  dashed?: readonly boolean[];
  text: string;
  grid: string;
  mark: string;
  moment: string;
}

export interface ChartStyle {
  logarithmic: boolean;
  axis: Axis;
  /** The position on the x axis where something was not finite first, in this chart or in another; null for none. */
  bad?: number | null;
}

/** The area of the curves, in pixels. */
export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A word of a heading, with its colour. */
export type Word = readonly [text: string, colour: string];

interface Pointer {
  hover: number | null;
  dragFrom: number | null;
}

type To = (number: number) => number;

/** The part of a canvas context that is used. `svg.ts` implements it, too. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "beginPath"
  | "clip"
  | "fill"
  | "fillRect"
  | "fillStyle"
  | "fillText"
  | "font"
  | "globalAlpha"
  | "lineJoin"
  | "lineTo"
  | "lineWidth"
  | "moveTo"
  | "rect"
  | "restore"
  | "save"
  | "setLineDash"
  | "stroke"
  | "strokeStyle"
  | "textAlign"
  | "textBaseline"
>;

const FONT = '10.5px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const MARK = 4;
const DASHES = [5, 3];
/** The layout of the words below the x axis, in pixels: the gap between words, and the width of a character. */
const WORD = { gap: 6, wide: 6 };
/** The opacity of a single band. Several bands are fainter, so that the lines stand out. */
const BAND = 0.2;
/** The height of the heading of a saved chart, in pixels. */
export const HEADING = 20;
const PIXELS_EACH = { x: 70, y: 30 };

export function frameOf({ clientWidth, clientHeight }: { clientWidth: number; clientHeight: number }): Frame {
  return { left: 44, top: 8, width: Math.max(20, clientWidth - 54), height: Math.max(20, clientHeight - 28) };
}

/**
 * Paints the background and the heading of a saved chart. Returns the area of the chart below it. `wide` measures text.
 */
export function paintHeading(
  context: Pen,
  frame: Frame,
  heading: readonly Word[],
  ground: string,
  wide: (text: string) => number,
): Frame {
  const { left, top, width, height } = frame;
  context.fillStyle = ground;
  context.fillRect(0, 0, left + width + 10, top + height + 20 + HEADING);
  context.font = FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  let x = 10;
  for (const [text, colour] of heading) {
    context.fillStyle = colour;
    context.fillText(text, x, HEADING / 2 + 2);
    x += wide(text) + 10;
  }
  return { ...frame, top: top + HEADING };
}

/** Formats the end of the time axis with as many digits as its ticks. */
function endOf({ to }: Drawn, across: readonly number[]): string {
  const [coarse, digits] = [seconds(to), tickWords(across, value)[0]?.split(".")[1]?.length ?? 0];
  return to < 60 && to >= 1 && digits > 2 ? `${to.toFixed(digits)} s` : coarse;
}

export function paint(
  context: Pen,
  frame: Frame,
  drawn: Drawn,
  { logarithmic, axis, bad = null }: ChartStyle,
  colours: ChartColours,
  pointer: Pointer,
): void {
  const { left, top, width, height } = frame;
  const [low, high] = rangeOf(drawn, logarithmic);
  const shape: To = logarithmic ? Math.log10 : (y) => y;
  const toX: To = (x) => left + (width * (x - drawn.from)) / (drawn.to - drawn.from);
  const toY: To = (y) => top + height - (height * (shape(y) - shape(low))) / (shape(high) - shape(low));
  context.font = FONT;
  const across = ticks(drawn.from, drawn.to, width / PIXELS_EACH.x, axis === "seconds" ? 0 : 1);
  const up = (logarithmic ? logTicks : ticks)(low, high, height / PIXELS_EACH.y);
  const end = axis === "seconds" ? endOf(drawn, across) : `${axis} ${value(Math.floor(drawn.to))}`;
  paintAxes(context, frame, across, up, toX, toY, colours, end);
  context.save();
  context.beginPath();
  context.rect(left - MARK, top - MARK, width + 2 * MARK, height + MARK + 1);
  context.clip();
  const bands = drawn.curves.filter(({ band }) => band).length;
  for (const curve of drawn.curves) {
    paintCurve(
      context,
      curve,
      toX,
      toY,
      colours.lines[curve.line] ?? colours.text,
      BAND / Math.sqrt(Math.max(1, bands)),
      colours.dashed?.[curve.line] ? DASHES : [],
    );
  }
  if (bad !== null && bad >= drawn.from && bad <= drawn.to) paintBad(context, frame, toX(bad), colours.mark);
  if (drawn.at !== null) paintRule(context, frame, toX(drawn.at), colours.moment);
  paintMarks(context, drawn.marks, frame, toX, colours.mark);
  paintPointer(context, frame, pointer, colours);
  context.restore();
}

function paintAxes(
  context: Pen,
  { left, top, width, height }: Frame,
  across: number[],
  up: number[],
  toX: To,
  toY: To,
  { text, grid }: ChartColours,
  end: string,
): void {
  context.fillStyle = grid;
  for (const tick of up) context.fillRect(left, Math.round(toY(tick)), width, 1);
  context.fillStyle = text;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const tick of up) context.fillText(axisTick(tick), left - 6, toY(tick), left - 8);
  context.textAlign = "center";
  context.textBaseline = "top";
  const right = left + width;
  let free = Number.NEGATIVE_INFINITY;
  tickWords(across, value).forEach((words, i) => {
    const at = toX(across[i] as number);
    const half = (WORD.wide * words.length) / 2;
    if (at - half < free || at + half + WORD.gap >= right - WORD.wide * end.length) return;
    context.fillText(words, at, top + height + 5);
    free = at + half + WORD.gap;
  });
  context.textAlign = "right";
  context.fillText(end, right + MARK, top + height + 5);
}

/** Paints a dashed line, so that it differs from that of the moment even without colour. */
function paintBad(context: Pen, { top, height }: Frame, x: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.setLineDash([2, 2]);
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, top + height);
  context.stroke();
  context.setLineDash([]);
}

function paintCurve(
  context: Pen,
  { x, y, smooth, band, ago, begins }: Curve,
  toX: To,
  toY: To,
  colour: string,
  opacity: number,
  dashes: number[],
): void {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineJoin = "round";
  if (ago > 0) {
    stroke(context, x, y, toX, toY, 1, 0.6);
    return;
  }
  if (band) {
    context.globalAlpha = opacity;
    context.beginPath();
    trace(context, x, band.low, toX, toY);
    trace(context, [...x].reverse(), [...band.high].reverse(), toX, toY);
    context.fill();
  }
  if (smooth) stroke(context, x, y, toX, toY, 1, 0.35, begins);
  if (dashes.length > 0) context.setLineDash(dashes);
  stroke(context, x, smooth ?? y, toX, toY, 1.4, 1, begins);
  if (dashes.length > 0) context.setLineDash([]);
  // A very short line would be invisible, so its points are drawn as dots.
  for (let i = 0; i < (x.length < 3 ? x.length : 0); i++) {
    context.fillRect(toX(x[i] as number) - 2, toY(y[i] as number) - 2, 4, 4);
  }
}

function stroke(
  context: Pen,
  x: number[],
  y: number[],
  toX: To,
  toY: To,
  width: number,
  alpha: number,
  begins?: ReadonlySet<number>,
): void {
  context.globalAlpha = alpha;
  context.lineWidth = width;
  context.beginPath();
  trace(context, x, y, toX, toY, begins);
  context.stroke();
  context.globalAlpha = 1;
}

function trace(context: Pen, x: number[], y: number[], toX: To, toY: To, begins?: ReadonlySet<number>): void {
  for (let i = 0; i < x.length; i++) {
    const [across, down] = [toX(x[i] as number), toY(y[i] as number)];
    if (begins?.has(i)) context.moveTo(across, down);
    else context.lineTo(across, down);
  }
}

/** Paints a cross at the bottom for NaN, and an arrow in the direction of an infinity. */
function paintMarks(context: Pen, marks: Mark[], { top, height }: Frame, toX: To, colour: string): void {
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.6;
  for (const { x: at, y } of marks) {
    const x = toX(at);
    const floor = top + height - MARK;
    const tip = y < 0 ? top + height : top;
    const tail = y < 0 ? tip - 2 * MARK : tip + 2 * MARK;
    context.beginPath();
    if (Number.isNaN(y)) {
      context.moveTo(x - MARK, floor - MARK);
      context.lineTo(x + MARK, floor + MARK);
      context.moveTo(x + MARK, floor - MARK);
      context.lineTo(x - MARK, floor + MARK);
      context.stroke();
    } else {
      context.moveTo(x, tip);
      context.lineTo(x - MARK, tail);
      context.lineTo(x + MARK, tail);
      context.fill();
    }
  }
}

function paintPointer(context: Pen, frame: Frame, { hover, dragFrom }: Pointer, { text, moment }: ChartColours): void {
  if (hover === null) return;
  paintRule(context, frame, hover, text);
  if (dragFrom === null) return;
  context.globalAlpha = 0.15;
  context.fillStyle = moment;
  context.fillRect(Math.min(hover, dragFrom), frame.top, Math.abs(hover - dragFrom), frame.height);
  context.globalAlpha = 1;
}

function paintRule(context: Pen, { top, height }: Frame, x: number, colour: string): void {
  context.globalAlpha = 0.7;
  context.fillStyle = colour;
  context.fillRect(x, top, 1, height);
  context.globalAlpha = 1;
}

/** Returns the range of the visible values, with a margin. */
function rangeOf({ curves, from, to }: Drawn, logarithmic: boolean): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const { x, y, band } of curves) {
    x.forEach((at, i) => {
      if (at < from || at > to) return;
      low = Math.min(low, band?.low[i] ?? (y[i] as number));
      high = Math.max(high, band?.high[i] ?? (y[i] as number));
    });
  }
  if (low > high) return logarithmic ? [0.1, 1] : [0, 1];
  if (logarithmic) return low < high ? [low / 1.1, high * 1.1] : [low / 2, high * 2];
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}
