/** One chart with its heading: name, place, last value or the one under the pointer, and the choice of axis. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, seconds, value } from "../../kit/format";
import { colourAt, siteColour } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import type { UiState } from "../../store/ui";
import { siteName } from "../sites/name";
import { Chart } from "./chart";
import { drawnOf, type Reading } from "./drawn";

interface Props {
  run: RunStore;
  ui: UiState;
  series: Series;
  plotKey: string;
  dark: boolean;
}

export function Plot({ run, ui, series, plotKey, dark }: Props) {
  run.watch();
  const canvas = useRef<HTMLDivElement>(null);
  const [chart, setChart] = useState<Chart | null>(null);
  const [hover, setHover] = useState<Reading | null>(null);
  const visible = useVisible(canvas);
  const logarithmic = ui.logarithmic.value.has(plotKey);
  const rank = run.rank.get(series.site) ?? 0;
  const lanes = series.lines.size;
  const { total } = series;

  // `dark` changes what the colours are worth.
  useEffect(() => {
    const target = canvas.current;
    if (!target) return;
    const lines = Array.from({ length: lanes }, (_, lane) => colourAt(target, siteColour(rank + lane)));
    const [text, grid, mark] = ["--fg2", "--hair", "--bad"].map((name) => colourAt(target, name)) as [
      string,
      string,
      string,
    ];
    const made = new Chart(target, { lines, text, grid, mark }, logarithmic, setHover);
    setChart(made);
    const observer = new ResizeObserver(() => made.resize());
    observer.observe(target);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [lanes, rank, logarithmic, dark]);
  // `total` is what changes in the series.
  useLayoutEffect(() => {
    if (chart && visible) chart.update(drawnOf(series, logarithmic));
  }, [chart, visible, series, total, logarithmic]);

  const site = run.sites.get(series.site);
  const name = site?.values[series.value] || (site ? siteName(site) : plotKey);
  return (
    <figure class="plot" data-testid="plot" data-series={name} data-points={total}>
      <figcaption>
        <b class="mono" style={{ color: `var(${siteColour(rank)})` }} title={name}>
          {name}
        </b>
        {!hover && (
          <span class="muted plot-where">
            {site?.where}
            {lanesNote(series)}
          </span>
        )}
        <span class="grow" />
        <LogToggle ui={ui} plotKey={plotKey} on={logarithmic} />
        <output class="mono number">{hover ? readingText(hover) : <Last y={series.first?.last} />}</output>
      </figcaption>
      <div class="chart" ref={canvas} role="img" aria-label={`${name}: ${count(total)} points`} />
    </figure>
  );
}

/** Charts that are scrolled away need not be drawn. */
function useVisible(element: { current: HTMLElement | null }): boolean {
  const [visible, setVisible] = useState(true);
  useEffect(() => {
    if (!element.current) return;
    const observer = new IntersectionObserver((entries) => setVisible(entries.at(-1)?.isIntersecting ?? true));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return visible;
}

function Last({ y }: { y: number | undefined }) {
  if (y === undefined) return null;
  return <span class={Number.isFinite(y) ? "" : "bad-text"}>{value(y)}</span>;
}

function LogToggle({ ui, plotKey, on }: { ui: UiState; plotKey: string; on: boolean }) {
  const toggle = () => {
    const chosen = new Set(ui.logarithmic.value);
    if (!chosen.delete(plotKey)) chosen.add(plotKey);
    ui.logarithmic.value = chosen;
  };
  return (
    <button type="button" class="log-toggle" aria-pressed={on} title="Logarithmic axis" onClick={toggle}>
      log
    </button>
  );
}

function lanesNote(series: Series): string {
  if (series.onlyFirstLane) return " · many lanes, lane 0 drawn";
  return series.lines.size > 1 ? ` · ${series.lines.size} lanes` : "";
}

function readingText({ x, time, low, high }: Reading): string {
  const where = time === null ? `${count(x)}` : `${count(x)} · ${seconds(time)}`;
  return low === high ? `${where} · ${value(low)}` : `${where} · ${value(low)} … ${value(high)}`;
}
