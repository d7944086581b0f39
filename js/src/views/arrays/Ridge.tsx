/** Histograms as a ridge plot: a hill for each event, the oldest at the back, the newest at the bottom. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { arrowMove } from "../../kit/arrows";
import { value as number } from "../../kit/format";
import { clearCanvas, useSize } from "../../kit/size";
import { colourAt } from "../../kit/theme";
import type { Histograms } from "../../transport/wire";
import type { Cell } from "./HeatMap";

/** The least distance between two hills, in pixels. If there are too many events, only every n-th has a hill. */
const LEAST_APART = 7;
const MOST_APART = 26;
/** The height of the highest hill, as a multiple of the distance between hills. */
const OVERLAP = 4;
/** Pixels for the axis, at the bottom. */
const AXIS = 18;

interface Props {
  found: Histograms;
  dark: boolean;
  label: string;
  /** Gets the bin (`row`) and the histogram (`column`) under the pointer. */
  onRead: (cell: Cell | null) => void;
}

export function Ridge({ found, dark, label, onRead }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height } = useSize(canvas);
  const [at, setAt] = useState<{ hill: number; bin: number } | null>(null);
  const { event, bins, low, high } = found;
  const hills = useMemo(() => hillsOf(event.length, height), [event, height]);
  const distance = Math.min(MOST_APART, (height - AXIS) / (hills.length + OVERLAP - 1));
  const base = (hill: number) => height - AXIS - (hills.length - 1 - hill) * distance;

  // `dark` changes the computed colours.
  useLayoutEffect(() => {
    const context = clearCanvas(canvas.current, width, height);
    if (!context) return;
    const element = context.canvas.parentElement ?? context.canvas;
    const [line, ground, ink] = ["--accent", "--bg", "--fg2"].map((name) => colourAt(element, name)) as string[];
    const most = hills.reduce((most, column) => Math.max(most, ...histogram(found, column)), 1);
    hills.forEach((column, hill) => {
      const top = (n: number) => base(hill) - (n / most) * OVERLAP * distance;
      context.beginPath();
      context.moveTo(0, base(hill));
      histogram(found, column).forEach((n, bin) => {
        context.lineTo(((bin + 0.5) * width) / bins, top(n));
      });
      context.lineTo(width, base(hill));
      context.globalAlpha = 1;
      context.fillStyle = ground as string;
      context.fill();
      // Older hills are fainter.
      context.globalAlpha = 0.12 + (0.38 * hill) / hills.length + (hill === at?.hill ? 0.4 : 0);
      context.fillStyle = line as string;
      context.fill();
      context.globalAlpha = 0.45 + (0.55 * (hill + 1)) / hills.length;
      context.strokeStyle = line as string;
      context.stroke();
    });
    context.globalAlpha = 1;
    context.fillStyle = ink as string;
    context.font = "11px system-ui, sans-serif";
    for (const share of [0, 0.5, 1]) {
      context.textAlign = share === 0 ? "left" : share === 1 ? "right" : "center";
      context.fillText(number(low + share * (high - low)), 3 + share * (width - 6), height - 4);
    }
    if (at) context.fillRect(((at.bin + 0.5) * width) / bins, 0, 1, height - AXIS);
  }, [found, hills, width, height, dark, at]);

  const read = (next: { hill: number; bin: number } | null) => {
    setAt(next);
    onRead(next && { row: next.bin, column: hills[next.hill] as number });
  };
  const within = (i: number, length: number) => Math.min(length - 1, Math.max(0, i));
  const onPointer = ({ offsetX, offsetY }: PointerEvent) =>
    read({
      hill: within(Math.ceil((offsetY - base(0)) / distance), hills.length),
      bin: within(Math.floor((offsetX * bins) / width), bins),
    });
  const onKeyDown = (event: KeyboardEvent) => {
    const move = arrowMove(event);
    if (!move) return;
    const { hill, bin } = at ?? { hill: hills.length - 1, bin: -1 };
    read({ hill: within(hill + move[0], hills.length), bin: within(bin + move[1], bins) });
  };
  return (
    <canvas
      ref={canvas}
      class="ridge"
      data-testid="ridge"
      data-hills={hills.length}
      tabIndex={0}
      role="img"
      aria-label={label}
      onPointerMove={onPointer}
      onPointerLeave={() => read(null)}
      onKeyDown={onKeyDown}
      onBlur={() => read(null)}
    />
  );
}

/**
 * Returns which of `count` histograms have a hill: evenly spaced, with the newest. Returns all of them while the height
 * is not known.
 */
export function hillsOf(count: number, height: number): number[] {
  const room = height > 0 ? Math.max(2, Math.floor((height - AXIS) / LEAST_APART) - OVERLAP + 1) : count;
  const shown = Math.min(count, room);
  return Array.from({ length: shown }, (_, i) => (shown > 1 ? Math.round((i * (count - 1)) / (shown - 1)) : count - 1));
}

function histogram({ counts, bins }: Histograms, column: number): Uint32Array {
  return counts.subarray(column * bins, (column + 1) * bins);
}
