/** One chart with its heading: names, place, last value or the one under the pointer, and what can be done with it. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, seconds, value } from "../../kit/format";
import { download } from "../../kit/give";
import { colourAt, siteColour } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import { toggled, type UiState } from "../../store/ui";
import { siteName } from "../sites/name";
import { Chart } from "./chart";
import { drawnOf, type Look, lineCount, type Range, type Reading } from "./drawn";
import type { ChartColours } from "./paint";
import { stepped } from "./zoom";

interface Props {
  run: RunStore;
  ui: UiState;
  /** Those drawn together; one, unless they were pinned. */
  all: readonly Series[];
  plotKey: string;
  look: Omit<Look, "zoom" | "logarithmic">;
  dark: boolean;
}

export function Plot({ run, ui, all, plotKey, look, dark }: Props) {
  run.watch();
  const canvas = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<Reading | null>(null);
  const [zoom, setZoom] = useState<Range | null>(null);
  const [series] = all as [Series];
  const together = all.length > 1;
  const names = all.map((one) => nameOf(run, one));
  const rank = run.rank.get(series.site) ?? 0;
  const colour = (line: number) => siteColour(together ? line : rank + line);
  const whole: Look = { ...look, zoom, logarithmic: ui.logarithmic.value.has(plotKey) };
  const chart = useChart(canvas, all, whole, colour, dark, { onHover: setHover, onZoom: setZoom });
  useEffect(() => setZoom(null), [look.byTime, look.during?.from]);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = chart && stepped(event.key, zoom, chart.seen);
    if (next === undefined || next === false) return;
    event.preventDefault();
    event.stopPropagation();
    setZoom(next);
  };
  const toPng = () =>
    chart?.toPng(colourAt(canvas.current as HTMLElement, "--bg"), (png) => {
      if (png) download(`${names.join("_").replace(/\W+/g, "_")}.png`, png);
    });
  const points = all.reduce((sum, one) => sum + one.total, 0);
  const own = together ? { "data-testid": "overlay" } : { "data-testid": "plot", "data-series": names[0] };
  return (
    <figure class="plot" {...own} data-points={points} data-zoomed={zoom !== null}>
      <figcaption>
        {names.map((name, i) => (
          <b key={name} class="mono" style={{ color: `var(${colour(i)})` }} title={name}>
            {name}
          </b>
        ))}
        {!hover && !together && (
          <span class="muted plot-where">
            {run.sites.get(series.site)?.where}
            {lanesNote(series)}
          </span>
        )}
        <span class="grow" />
        <Actions ui={ui} plotKey={plotKey} name={names.join(", ")} together={together} toPng={toPng} />
        <output class="mono number">{hover ? readingText(hover, look.byTime) : <Last y={series.first?.last} />}</output>
      </figcaption>
      <div
        class="chart"
        ref={canvas}
        role="img"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: zoomed and moved by the keyboard
        tabIndex={0}
        aria-label={`${names.join(", ")}: ${count(points)} points. Plus and minus zoom, the arrow keys move, 0 shows all`}
        onKeyDown={onKeyDown}
      />
    </figure>
  );
}

/** The chart in `canvas`, brought up to date when its points, or how they are looked at, change. */
function useChart(
  canvas: { current: HTMLDivElement | null },
  all: readonly Series[],
  look: Look,
  colour: (line: number) => string,
  dark: boolean,
  listeners: ConstructorParameters<typeof Chart>[1],
): Chart | null {
  const [chart, setChart] = useState<Chart | null>(null);
  const visible = useVisible(canvas);
  useEffect(() => {
    if (!canvas.current) return;
    const made = new Chart(canvas.current, listeners);
    setChart(made);
    return () => made.destroy();
  }, []);
  const names = Array.from({ length: lineCount(all) }, (_, line) => colour(line)).join();
  const [colours, setColours] = useState<ChartColours | null>(null);
  // `dark` changes what the colours are worth.
  useLayoutEffect(() => {
    const target = canvas.current;
    if (!target) return;
    const [text, grid, mark, moment, ...lines] = ["--fg2", "--hair", "--bad", "--accent", ...names.split(",")].map(
      (name) => colourAt(target, name),
    ) as [string, string, string, string, ...string[]];
    setColours({ text, grid, mark, moment, lines });
  }, [names, dark]);
  const { zoom, during, moment, smoothing, logarithmic, byTime } = look;
  // The totals are what changes in the series.
  const totals = all.map((series) => series.total).join();
  useLayoutEffect(() => {
    if (chart && visible && colours) chart.update(drawnOf(all, look), look, colours);
  }, [chart, visible, colours, totals, zoom, during?.from, during?.to, moment, smoothing, logarithmic, byTime]);
  return chart;
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

interface ActionsProps {
  ui: UiState;
  plotKey: string;
  name: string;
  together: boolean;
  toPng: () => void;
}

function Actions({ ui, plotKey, name, together, toPng }: ActionsProps) {
  const pinned = ui.pinned.value.has(plotKey);
  const on = ui.logarithmic.value.has(plotKey);
  return (
    <span class="actions">
      <button
        type="button"
        class="mini save"
        aria-label={`png: save ${name} as a picture`}
        title="Save as PNG"
        onClick={toPng}
      >
        png
      </button>
      {!together && (
        <button
          type="button"
          class="mini pin"
          aria-pressed={pinned}
          aria-label={`Pin ${name}`}
          title="Draw it together with the others that are pinned"
          onClick={() => {
            ui.pinned.value = toggled(ui.pinned.value, plotKey);
          }}
        >
          pin
        </button>
      )}
      <button
        type="button"
        class="mini log-toggle"
        aria-pressed={on}
        aria-label={`log axis of ${name}`}
        title="Logarithmic axis"
        onClick={() => {
          ui.logarithmic.value = toggled(ui.logarithmic.value, plotKey);
        }}
      >
        log
      </button>
    </span>
  );
}

function Last({ y }: { y: number | undefined }) {
  if (y === undefined) return null;
  return <span class={Number.isFinite(y) ? "" : "bad-text"}>{value(y)}</span>;
}

export function nameOf(run: RunStore, { site: id, value: i }: Series): string {
  const site = run.sites.get(id);
  return site?.values[i] || (site ? siteName(site) : `${id}/${i}`);
}

function lanesNote(series: Series): string {
  if (series.onlyFirstLane) return " · many lanes, lane 0 drawn";
  return series.lines.size > 1 ? ` · ${series.lines.size} lanes` : "";
}

function readingText({ x, time, low, high }: Reading, byTime: boolean): string {
  const at = byTime ? seconds(x) : count(x);
  const where = time === null ? at : `${at} · ${seconds(time)}`;
  return low === high ? `${where} · ${value(low)}` : `${where} · ${value(low)} … ${value(high)}`;
}
