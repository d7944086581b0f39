/** A chart of one value of several runs. Each run has a colour; runs that differ only in a seed share one. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { seconds, value } from "../../kit/format";
import { colourAt, siteColour } from "../../kit/theme";
import type { SentChart } from "../../store/rows";
import { Chart } from "../plots/chart";
import type { Range, Reading } from "../plots/drawn";
import { stepped } from "../plots/zoom";
import { drawnOf, oddOf } from "./overlay";

interface Props {
  chart: SentChart;
  /** The label of each group. */
  labels: readonly string[];
  byTime: boolean;
  dark: boolean;
  /** The zoom that all charts share; null for all of the axis. */
  zoom: Range | null;
  onZoom: (zoom: Range | null) => void;
}

export function OverlayChart({ chart, labels, byTime, dark, zoom, onZoom }: Props) {
  const target = useRef<HTMLDivElement>(null);
  const [drawing, setDrawing] = useState<Chart | null>(null);
  const [hover, setHover] = useState<Reading | null>(null);
  const [logarithmic, setLogarithmic] = useState(false);
  useEffect(() => {
    if (!target.current) return;
    const made = new Chart(target.current, { onHover: setHover, onZoom });
    setDrawing(made);
    return () => made.destroy();
  }, []);
  useLayoutEffect(() => {
    const element = target.current;
    if (!drawing || !element) return;
    const colour = (name: string) => colourAt(element, name);
    drawing.update(
      drawnOf(chart, byTime, zoom),
      { logarithmic, axis: byTime ? "seconds" : "step" },
      {
        text: colour("--fg2"),
        grid: colour("--grid"),
        mark: colour("--bad"),
        moment: colour("--accent"),
        lines: labels.map((_, group) => colour(siteColour(group))),
      },
    );
  }, [drawing, chart, byTime, zoom, logarithmic, dark, labels.join()]);
  const nonFinite = oddOf(chart);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = drawing && stepped(event.key, zoom, drawing.seen);
    if (next === null ? zoom === null : !next) return;
    event.preventDefault();
    event.stopPropagation();
    onZoom(next || null);
  };
  return (
    <figure class="overlay" data-testid="overlay" data-series={chart.name} data-lines={chart.lines.length}>
      <figcaption>
        <b class="mono" title={chart.name}>
          <bdi>{chart.name}</bdi>
        </b>
        {chart.where && <span class="muted">{chart.where}</span>}
        {!hover &&
          nonFinite.map(({ group, from, words }) => (
            <span key={group} class="bad-text">
              {labels[group]} is {words} from step {from}
            </span>
          ))}
        {hover && (
          <output class="mono number">
            {byTime ? seconds(hover.x) : `step ${hover.x}`}
            {hover.values.map(({ line, low, high }) => (
              <span key={line} style={{ color: `var(${siteColour(line)})` }}>
                {" · "}
                {low === high ? value(low) : `${value(low)} … ${value(high)}`}
              </span>
            ))}
          </output>
        )}
        <span class="grow" />
        <button
          type="button"
          class="log-axis"
          aria-pressed={logarithmic}
          aria-label={`log axis of ${chart.name}`}
          title="Logarithmic axis"
          onClick={() => setLogarithmic(!logarithmic)}
        >
          log
        </button>
      </figcaption>
      <div
        class="overlay-chart"
        ref={target}
        role="img"
        title="Drag: zoom all charts. Double click: show all"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: zoomed and moved by the keyboard
        tabIndex={0}
        aria-label={`${summaryOf(chart, labels)}. Plus and minus zoom, the arrow keys move, 0 shows all`}
        onKeyDown={onKeyDown}
      />
    </figure>
  );
}

/** Describes the chart for a screen reader. */
function summaryOf({ name, lines }: SentChart, labels: readonly string[]): string {
  const ends = lines.map(({ group, y }) => `${labels[group]} from ${y[0]} to ${y.at(-1)}`);
  return `${name}: ${ends.join("; ")}`;
}
