/** One chart for each value that is a number, and one for those that were pinned together. */
import { useState } from "preact/hooks";
import { count, plural } from "../../kit/format";
import { Toggle } from "../../kit/Toggle";
import { lineOf } from "../../store/apart";
import { sameIn } from "../../store/earlier";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import { timeOf } from "../../store/spans";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { ChartTools } from "./ChartTools";
import { Plot } from "./Plot";

const MOST_PLOTS = 60;

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Plots({ run, ui, status, dark }: Props) {
  run.watch();
  const [most, setMost] = useState(MOST_PLOTS);
  const charts = chartsOf(run);
  const all = charts.flat();
  if (all.length === 0) {
    return (
      <div class="empty">
        <strong>{status.state === "running" ? "No scalars yet" : "No scalars in this run"}</strong>
        <span>Every number that is printed or handed to a callback is drawn here against its step.</span>
        {run.watched.tables.size > 0 && <span>Watched names are ticked and plotted in Code.</span>}
      </div>
    );
  }
  const call = ui.onlyCall.value === null ? undefined : run.calls.get(ui.onlyCall.value);
  const look = {
    axis: ui.axis.value,
    smoothing: ui.smoothing.plots.value,
    during: call ? timeOf(call) : null,
    moment: ui.moment.value === null ? null : run.log.time(run.log.lowerBound(ui.moment.value + 1) - 1),
  };
  const { earlier } = run;
  const shownEarlier = ui.earlier.value ? earlier : [];
  const pinned = all.filter((series) => ui.pinned.value.has(keyOf(series)));
  const plot = (key: string, together: Series[]) => (
    <Plot
      key={key}
      run={run}
      ui={ui}
      all={together}
      ghosts={together.map((series) => sameIn(shownEarlier, run, series))}
      plotKey={key}
      look={look}
      dark={dark}
    />
  );
  const overlay = pinned.length > 1 ? [plot(`pinned ${[...ui.pinned.value]}`, pinned)] : [];
  return (
    <div class="plots-view">
      <Toolbar ui={ui} earlier={earlier.length} />
      <div class="plots" data-testid="plots" style={{ "--columns": columnsFor(charts.length + overlay.length) }}>
        {overlay}
        {charts.slice(0, most).map((chart) => plot(keyOf(chart[0] as Series), chart))}
        {charts.length > most && (
          <button type="button" class="button more-plots" onClick={() => setMost(most + MOST_PLOTS)}>
            {count(charts.length - most)} more
          </button>
        )}
      </div>
    </div>
  );
}

function Toolbar({ ui, earlier }: { ui: UiState; earlier: number }) {
  return (
    <div class="toolbar">
      <ChartTools ui={ui} view="plots" />
      {earlier > 0 && (
        <Toggle of={ui.earlier} name="earlier" title="Draw the same values of earlier runs of this cell behind them">
          {plural(earlier, "earlier run")}
        </Toggle>
      )}
      <span class="grow" />
      <span class="muted hint">drag to zoom · double-click shows all</span>
    </div>
  );
}

/** A value of several processes is a chart with a line for each; what is the same in some of them is there once. */
function chartsOf(run: RunStore): Series[][] {
  const charts = new Map<string, Series[]>();
  for (const series of run.series.all()) {
    const site = run.sites.get(series.site);
    if (!site || run.isCopy(series.site)) continue;
    const isAlone = !run.status?.processes.length;
    const key = isAlone ? keyOf(series) : [lineOf(site), site.callers, series.value].join("\n");
    charts.set(key, [...(charts.get(key) ?? []), series]);
  }
  return [...charts.values()];
}

function keyOf({ site, value }: Series): string {
  return `${site}/${value}`;
}

/** Where there is room for them: so many that the last row is full, or nearly. */
function columnsFor(plots: number): number {
  return plots === 4 ? 2 : Math.min(3, plots);
}
