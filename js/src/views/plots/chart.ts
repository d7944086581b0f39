/** A uPlot chart that shows one series; what it draws comes from `drawn.ts`. */
import uPlot from "uplot";
import { value } from "../../kit/format";
import { type Drawn, type Reading, readingAt } from "./drawn";

export interface ChartColours {
  lines: string[];
  text: string;
  grid: string;
  mark: string;
}

const FONT = '10.5px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const MARK_SIZE = 4;
const LOG = 3;
/** Between ticks of the occurrence: 1, 2, 5, 10, … */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

export class Chart {
  private readonly plot: uPlot;
  private drawn: Drawn = { data: [[], []], times: null, marks: [], from: 0, to: 1 };

  constructor(
    private readonly target: HTMLElement,
    private readonly colours: ChartColours,
    logarithmic: boolean,
    private readonly onHover: (reading: Reading | null) => void,
  ) {
    this.plot = new uPlot(this.options(logarithmic), undefined, target);
  }

  update(drawn: Drawn): void {
    if (drawn.data.length !== this.colours.lines.length + 1) return;
    this.drawn = drawn;
    this.plot.setData(drawn.data);
  }

  resize(): void {
    this.plot.setSize(this.size());
  }

  destroy(): void {
    this.plot.destroy();
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(80, this.target.clientWidth), height: Math.max(60, this.target.clientHeight) };
  }

  private options(logarithmic: boolean): uPlot.Options {
    return {
      ...this.size(),
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 5 } },
      scales: {
        x: { time: false, range: () => [this.drawn.from, this.drawn.to] },
        y: { distr: logarithmic ? LOG : 1, range: (_, low, high) => rangeOf(low, high, logarithmic) },
      },
      axes: [
        this.axis({ size: 20, gap: 2, space: 60, grid: { show: false }, incrs: WHOLE_STEPS }),
        this.axis({ size: 46, space: 24 }),
      ],
      series: [
        {},
        ...this.colours.lines.map(
          (stroke): uPlot.Series => ({ stroke, width: 1.4, spanGaps: true, points: this.points() }),
        ),
      ],
      hooks: {
        draw: [(plot) => this.drawMarks(plot)],
        setCursor: [
          (plot) => this.onHover(typeof plot.cursor.idx === "number" ? readingAt(this.drawn, plot.cursor.idx) : null),
        ],
      },
    };
  }

  private axis(axis: uPlot.Axis): uPlot.Axis {
    return {
      stroke: this.colours.text,
      font: FONT,
      grid: { stroke: this.colours.grid, width: 1 },
      ticks: { show: false },
      border: { show: false },
      values: (_, splits) => splits.map((split) => (split === null ? "" : value(split))),
      ...axis,
    };
  }

  /** A line of one point would not be seen. */
  private points(): uPlot.Series.Points {
    return { show: () => this.drawn.data[0].length < 3, size: 5 };
  }

  private drawMarks({ ctx, bbox, valToPos }: uPlot): void {
    ctx.save();
    ctx.fillStyle = this.colours.mark;
    const size = MARK_SIZE * window.devicePixelRatio;
    for (const x of this.drawn.marks) {
      const at = valToPos(x, "x", true);
      ctx.beginPath();
      ctx.moveTo(at - size, bbox.top - size);
      ctx.lineTo(at + size, bbox.top - size);
      ctx.lineTo(at, bbox.top + size);
      ctx.fill();
    }
    ctx.restore();
  }
}

function rangeOf(low: number | null, high: number | null, logarithmic: boolean): uPlot.Range.MinMax {
  if (low === null || high === null) return logarithmic ? [0.1, 1] : [0, 1];
  if (logarithmic) return uPlot.rangeLog(low, high, 10, false);
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}
