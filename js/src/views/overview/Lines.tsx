/** A chart of several lines over the steps, and a legend with their values at the shown step. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { brief, count, seconds, value } from "../../kit/format";
import { colourAt } from "../../kit/theme";
import { timeOfMoment } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import type { Axis, UiState } from "../../store/ui";
import { Chart } from "../plots/chart";
import { type Drawn, drawnOf, type Range, valuesAt } from "../plots/drawn";
import { stepped } from "../plots/zoom";
import { momentAt } from "./go";

export interface OneLine {
  series: Series;
  /** The heading of the lines that belong together; "" for none. */
  group: string;
  name: string;
  hue: number;
  dashed: boolean;
}

export interface Shared {
  run: RunStore;
  ui: UiState;
  dark: boolean;
  zoom: Range | null;
  onZoom: (zoom: Range | null) => void;
  /** The position on the x axis of the first value that was not finite; null if all were finite. */
  bad: number | null;
}

interface Props extends Shared {
  title: string;
  note: string;
  lines: readonly OneLine[];
  logarithmic?: boolean;
  open: (series: Series) => void;
}

export function Lines({ title, note, lines, logarithmic = false, open, ...shared }: Props) {
  const [hover, setHover] = useState<number | null>(null);
  const { run, ui } = shared;
  const time = timeOfMoment(run, ui);
  const { target, drawn, chart } = useLines(lines, logarithmic, time, shared, setHover);
  const at = hover ?? drawn?.at ?? null;
  const traces = lines.map(({ series }) => series.traces.length);
  const values = drawn && at !== null ? valuesAt(drawn, at) : null;
  const numberAt = (i: number) => {
    const first = traces.slice(0, i).reduce((sum, n) => sum + n, 0);
    return values ? values[first] : lines[i]?.series.last;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = chart && stepped(event.key, shared.zoom, chart.seen);
    if (next === null ? shared.zoom === null : !next) return;
    event.preventDefault();
    event.stopPropagation();
    shared.onZoom(next || null);
  };
  const single = lines.length === 1 && lines[0]?.name === title ? lines[0] : undefined;
  return (
    <figure
      class={`lines${single ? " single" : ""}`}
      data-testid="lines"
      data-chart={title}
      data-lines={lines.length}
      data-points={lines.reduce((sum, { series }) => sum + series.total, 0)}
    >
      <figcaption>
        {single ? (
          <button
            type="button"
            class="link-name mono"
            title={`Show ${single.name}`}
            onClick={() => open(single.series)}
          >
            {title}
          </button>
        ) : (
          <b>{title}</b>
        )}
        <span class="muted lines-note">{hover === null ? note : onAxis(hover, ui.axis.value)}</span>
        <span class="grow" />
        {single && <ShownNumber y={numberAt(0)} />}
      </figcaption>
      <div class="lines-body">
        <div
          class="chart"
          ref={target}
          role="img"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: zoomed and moved by the keyboard
          tabIndex={0}
          aria-label={inWords(title, lines)}
          title="Click: go to this step. Drag: zoom all charts. Double click: show all"
          onKeyDown={onKeyDown}
        />
        {!single && (
          <ul class="legend" aria-label={title}>
            {lines.map((line, i) => (
              <li key={i}>
                {line.group && line.group !== lines[i - 1]?.group && <b class="mono legend-group">{line.group}</b>}
                <button
                  type="button"
                  class={line.group ? "of-group" : ""}
                  title={`Show ${line.group} ${line.name}`}
                  onClick={() => open(line.series)}
                >
                  <span class={`swatch${line.dashed ? " dashed" : ""}`} style={{ color: `var(--hue-${line.hue})` }} />
                  <span class="mono legend-name">{line.name}</span>
                  <ShownNumber y={numberAt(i)} />
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </figure>
  );
}

function onAxis(x: number, axis: Axis): string {
  return axis === "seconds" ? seconds(x) : `${axis} ${count(Math.round(x))}`;
}

function ShownNumber({ y }: { y: number | undefined }) {
  if (y === undefined) return <span class="mono number muted">–</span>;
  return (
    <span class={`mono number legend-value${Number.isFinite(y) ? "" : " bad-text"}`} title={value(y)}>
      {brief(y)}
    </span>
  );
}

/** Draws the chart in the element, and again when its points or the zoom change. */
function useLines(
  lines: readonly OneLine[],
  logarithmic: boolean,
  moment: number | null,
  { run, ui, dark, zoom, onZoom, bad }: Shared,
  onHover: (x: number | null) => void,
) {
  const target = useRef<HTMLDivElement>(null);
  const [chart, setChart] = useState<Chart | null>(null);
  const drawn = useRef<Drawn | null>(null);
  const pick = useRef<(x: number) => void>(() => {});
  pick.current = (x) => {
    const times = (drawn.current?.curves ?? []).flatMap(({ x: xs, time }) => {
      const at = xs.findIndex((place) => place >= x - 0.5);
      return at < 0 ? [] : [time[at] as number];
    });
    if (times.length > 0) ui.moment.value = momentAt(run, Math.max(...times));
  };
  useEffect(() => {
    if (!target.current) return;
    const made = new Chart(target.current, {
      onHover: (reading) => onHover(reading?.x ?? null),
      onZoom,
      onPick: (x) => pick.current(x),
    });
    setChart(made);
    return () => made.destroy();
  }, []);
  const { axis } = ui;
  const smoothing = ui.smoothing.overview.value;
  const look = { axis: axis.value, smoothing, during: null, logarithmic, moment, zoom };
  const series = lines.map((line) => line.series);
  const key = `${series.map(({ site, value, total }) => `${site}/${value} ${total}`).join()} ${moment} ${zoom} ${logarithmic} ${bad} ${dark} ${axis.value} ${smoothing}`;
  const before = useRef("");
  if (before.current !== key) {
    before.current = key;
    drawn.current = drawnOf(series, look);
  }
  useLayoutEffect(() => {
    const element = target.current;
    if (!chart || !element || !drawn.current) return;
    const colour = (name: string) => colourAt(element, name);
    const each = <T,>(get: (line: OneLine) => T) => lines.flatMap((line) => line.series.traces.map(() => get(line)));
    chart.update(
      drawn.current,
      { logarithmic, axis: axis.value, bad: axis.value === "step" ? bad : null },
      {
        text: colour("--fg2"),
        grid: colour("--grid"),
        mark: colour("--bad"),
        moment: colour("--accent"),
        lines: each(({ hue }) => colour(`--hue-${hue}`)),
        dashed: each(({ dashed }) => dashed),
      },
    );
  }, [chart, key]);
  return { target, chart, drawn: drawn.current };
}

/** Describes the chart for a screen reader: the ends and the range of a single line, or the number of lines. */
function inWords(title: string, lines: readonly OneLine[]): string {
  const keys = "Plus and minus zoom, the arrow keys move, 0 shows all";
  if (lines.length > 1) return `${title}: ${count(lines.length)} lines, in the list beside it. ${keys}`;
  const [{ series }] = lines as [OneLine];
  const y = series.first?.y.view() ?? new Float64Array();
  const [least, greatest] = y.reduce(
    ([low, high], one) => [Math.min(low, one), Math.max(high, one)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  const ends = y.length > 0 ? `first ${brief(y[0] as number)}, last ${brief(series.last)}` : "no finite number";
  const range = y.length > 0 ? `, least ${brief(least)}, greatest ${brief(greatest)}` : "";
  const nonFinite = series.marks.x.length > 0 ? `, ${count(series.marks.x.length)} not finite` : "";
  return `${title}: ${ends}${range}${nonFinite}. ${keys}`;
}
