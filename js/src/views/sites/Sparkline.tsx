/** A small chart of the shape of a line. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { clearCanvas } from "../../kit/size";
import { colourAt } from "../../kit/theme";
import type { Band } from "../../store/band";
import { decimate } from "../../store/decimate";
import type { Line } from "../../store/series";

const WIDTH = 36;
const HEIGHT = 16;
const LAST_POINTS = 4000;

interface Props {
  line: Line | Band;
  colour: string;
  dark: boolean;
}

export function Sparkline({ line, colour, dark }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  // `dark` changes the computed colours.
  useLayoutEffect(() => {
    if (canvas.current) draw(canvas.current, line, colour);
  }, [line, line.total, colour, dark]);
  return <canvas ref={canvas} class="sparkline" />;
}

function draw(canvas: HTMLCanvasElement, line: Line | Band, colour: string): void {
  const context = clearCanvas(canvas, WIDTH, HEIGHT);
  if (!context) return;
  const y = line.y.view().subarray(-LAST_POINTS);
  const drawn = decimate(y, 2 * WIDTH);
  const values = drawn.map((i) => y[i] as number);
  const low = Math.min(...values);
  const range = Math.max(...values) - low || 1;
  context.strokeStyle = colourAt(canvas.parentElement ?? canvas, colour);
  context.lineWidth = 1.1;
  context.beginPath();
  drawn.forEach((i, k) => {
    const x = 1 + ((WIDTH - 2) * i) / Math.max(1, y.length - 1);
    context.lineTo(x, HEIGHT - 2 - ((HEIGHT - 4) * ((values[k] as number) - low)) / range);
  });
  context.stroke();
}
