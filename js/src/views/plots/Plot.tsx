/** A chart with its heading: names, place, the last value or the one under the pointer, and buttons. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, plural, seconds, value } from "../../kit/format";
import { download } from "../../kit/give";
import { colourAt, siteColour } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import { type Axis, toggled, type UiState } from "../../store/ui";
import type { Curve } from "../names/curves";
import { Chart } from "./chart";
import { drawnOf, type Ghosts, type Look, lineCount, type Range, type Reading } from "./drawn";
import type { ChartColours } from "./paint";
import { type Readout, readoutOf } from "./readout";
import { stepped } from "./zoom";

interface Props {
  run: RunStore;
  ui: UiState;
  /** The curves that are drawn together. */
  curves: readonly Curve[];
  plotKey: string;
  look: Omit<Look, "zoom" | "logarithmic">;
  dark: boolean;
}

export function Plot({ run, ui, curves, plotKey, look, dark }: Props) {
  run.watch();
  const canvas = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<Reading | null>(null);
  // All charts share one zoom.
  const zoom = ui.zoom.value;
  const setZoom = (next: Range | null) => {
    ui.zoom.value = next;
  };
  const all = curves.map(({ series }) => series);
  const ghosts = curves.map(({ ghosts }) => ghosts);
  const names = curves.map(({ name }) => name);
  const [series] = all as [Series];
  const together = all.length > 1;
  const rank = run.rank.get(series.site) ?? 0;
  const colour = (line: number) => siteColour(together ? line : rank + line);
  const own = all.map((_, i) => colour(lineCount(all.slice(0, i))));
  const earlier = agoOf(ghosts).map((ago) => [ago, colour(lineCount(all) + ago - 1)] as const);
  const whole: Look = { ...look, zoom, logarithmic: ui.logarithmic.value.has(plotKey) };
  const chart = useChart(canvas, all, ghosts, whole, colour, dark, { onHover: setHover, onZoom: setZoom });
  const axis = `${look.axis} ${look.during?.from}`;
  const axisBefore = useRef(axis);
  useEffect(() => {
    if (axisBefore.current !== axis) setZoom(null);
    axisBefore.current = axis;
  }, [axis]);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = chart && stepped(event.key, zoom, chart.seen);
    if (next === undefined || next === false) return;
    event.preventDefault();
    event.stopPropagation();
    setZoom(next);
  };
  const save = (kind: "png" | "svg") => {
    const background = colourAt(canvas.current as HTMLElement, "--bg");
    const inColour = (text: string, name: string) => [text, colourAt(canvas.current as HTMLElement, name)] as const;
    const words = names.map((name, i) => inColour(name, own[i] as string));
    const heading = [...words, ...earlier.map(([ago, name]) => inColour(inWords(ago), name))];
    const give = (picture: Blob | null) => {
      if (picture) download(`${names.join("_").replace(/\W+/g, "_")}.${kind}`, picture);
    };
    if (kind === "png") chart?.toPng(heading, background, give);
    else if (chart) give(new Blob([chart.toSvg(heading, background)], { type: "image/svg+xml" }));
  };
  const points = all.reduce((sum, one) => sum + one.total, 0);
  const testId = together ? { "data-testid": "overlay" } : { "data-testid": "plot", "data-series": names[0] };
  return (
    <figure class="plot" {...testId} data-points={points} data-zoomed={zoom !== null}>
      <figcaption>
        {names.map((name, i) => (
          <b key={i} class="mono" style={{ color: `var(${own[i]})` }} title={name}>
            {name}
          </b>
        ))}
        {!hover && !together && (
          <span class="muted plot-where">
            {run.sites.get(series.site)?.where}
            {lanesNote(series)}
          </span>
        )}
        {!hover &&
          earlier.map(([ago, name]) => (
            <span key={ago} class="plot-ago" style={{ color: `var(${name})` }} title={startTimeOf(run, ago)}>
              {inWords(ago)}
            </span>
          ))}
        <span class="grow" />
        <Log ui={ui} plotKey={plotKey} name={names.join(", ")} />
        <output class="mono number">
          {hover ? (
            <Read reading={hover} axis={look.axis} colour={colour} />
          ) : (
            all.map((one, i) => (
              <Last key={i} read={readoutOf(one, look.moment, look.axis)} colour={together ? `var(${own[i]})` : ""} />
            ))
          )}
        </output>
      </figcaption>
      <Actions name={names.join(", ")} save={save} />
      <div
        class="chart"
        ref={canvas}
        role="img"
        title="Drag: zoom all charts. Double click: show all"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: zoomed and moved by the keyboard
        tabIndex={0}
        aria-label={`${names.join(", ")}: ${count(points)} points. Plus and minus zoom, the arrow keys move, 0 shows all`}
        onKeyDown={onKeyDown}
      />
    </figure>
  );
}

/** Creates the chart in `canvas`, and draws it again when its points or the look change. */
function useChart(
  canvas: { current: HTMLDivElement | null },
  all: readonly Series[],
  ghosts: readonly Ghosts[],
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
  const lines = lineCount(all) + Math.max(0, ...agoOf(ghosts));
  const names = Array.from({ length: lines }, (_, line) => colour(line)).join();
  const { zoom, during, moment, smoothing, logarithmic, axis } = look;
  // A series has changed if its total has.
  const totals = [...all, ...ghosts.flat()].map((series) => series?.total).join();
  const colours = useRef({ key: "", computed: {} as ChartColours });
  useLayoutEffect(() => {
    const target = canvas.current;
    if (!chart || !visible || !target) return;
    const key = `${names} ${dark}`;
    if (colours.current.key !== key) colours.current = { key, computed: coloursAt(target, names.split(",")) };
    chart.update(drawnOf(all, look, ghosts), look, colours.current.computed);
  }, [chart, visible, names, dark, totals, zoom, during?.from, during?.to, moment, smoothing, logarithmic, axis]);
  return chart;
}

/** Returns the computed colours in the current theme. */
function coloursAt(target: HTMLElement, names: string[]): ChartColours {
  const colour = (name: string) => colourAt(target, name);
  return {
    text: colour("--fg2"),
    grid: colour("--grid"),
    mark: colour("--bad"),
    moment: colour("--accent"),
    lines: names.map(colour),
  };
}

/** Whether the element is on the screen. A hidden chart is not drawn. */
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
  name: string;
  save: (kind: "png" | "svg") => void;
}

function Actions({ name, save }: ActionsProps) {
  return (
    <span class="actions">
      {(["png", "svg"] as const).map((kind) => (
        <button
          type="button"
          key={kind}
          class="mini save"
          aria-label={`${kind}: save ${name} as a picture`}
          title={`Save as ${kind.toUpperCase()}`}
          onClick={() => save(kind)}
        >
          {kind}
        </button>
      ))}
    </span>
  );
}

function Log({ ui, plotKey, name }: { ui: UiState; plotKey: string; name: string }) {
  return (
    <button
      type="button"
      class="mini log-toggle"
      aria-pressed={ui.logarithmic.value.has(plotKey)}
      aria-label={`log axis of ${name}`}
      title="Logarithmic axis"
      onClick={() => {
        ui.logarithmic.value = toggled(ui.logarithmic.value, plotKey);
      }}
    >
      log
    </button>
  );
}

function Last({ read, colour }: { read: Readout | null; colour: string }) {
  if (!read) return <span class="last muted">–</span>;
  const { low, high } = read;
  const isGood = Number.isFinite(low) && Number.isFinite(high);
  return (
    <span class={`last${isGood ? "" : " bad-text"}`} style={isGood && colour ? { color: colour } : {}}>
      {low === high || !isGood ? value(low) : `${value(low)} … ${value(high)}`}
    </span>
  );
}

function lanesNote(series: Series): string {
  const { strands, elements, hasLanes } = series;
  const elementsNote = elements.size > 1 ? ` · ${elements.size} elements` : "";
  return strands > 1 ? `${elementsNote} · ${count(strands)} ${hasLanes ? "lanes" : "devices"}` : elementsNote;
}

/** Returns which earlier runs have a line: 1 for the previous run, 2 for the run before it, …. */
function agoOf(ghosts: readonly Ghosts[]): number[] {
  return [...new Set(ghosts.flatMap((runs) => runs.flatMap((series, i) => (series ? i + 1 : []))))];
}

function inWords(ago: number): string {
  return `${plural(ago, "run")} ago`;
}

function startTimeOf(run: RunStore, ago: number): string {
  const { started } = run.earlier[ago - 1]?.status ?? {};
  return started === undefined ? "" : `Ran at ${new Date(1000 * started).toLocaleTimeString()}`;
}

interface ReadProps {
  reading: Reading;
  axis: Axis;
  colour: (line: number) => string;
}

/** The position of the pointer, and the values there in the colours of their lines. */
function Read({ reading: { x, time, values }, axis, colour }: ReadProps) {
  const at = { seconds: seconds(x), call: `call ${Math.floor(x)}`, step: count(x) }[axis];
  return (
    <>
      {time === null ? at : `${at} · ${seconds(time)}`}
      {values.map(({ line, ago, low, high }, i) => (
        <span key={i} style={values.length > 1 ? { color: `var(${colour(line)})` } : {}}>
          {ago === 0 ? " · " : ` · ${ago} ago `}
          {low === high ? value(low) : `${value(low)} … ${value(high)}`}
        </span>
      ))}
    </>
  );
}
