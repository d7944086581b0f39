/** The chosen statistic over the steps: of the value, and of all names that are ticked, together. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched, type WatchSite } from "../../store/watched";
import { seriesKey, wordFor } from "../names/statistic";
import { ChartTools } from "../plots/ChartTools";
import { Plot } from "../plots/Plot";
import { watchedName } from "../sites/name";
import { Section } from "./Section";

interface Props {
  run: RunStore;
  ui: UiState;
  site: WatchSite;
  dark: boolean;
}

export function OverSteps({ run, ui, site, dark }: Props) {
  run.watch();
  const ticked = [...ui.ticked.value].flatMap((id) => run.sites.get(id) ?? []).filter(isWatched);
  const sites = [...new Set([site, ...ticked])].sort((a, b) => a.id - b.id);
  const shown = sites.filter((one) => seriesKey(run, one, ui.statistic.value));
  const keys = shown.map((one) => seriesKey(run, one, ui.statistic.value));
  const others = ticked.filter((one) => one !== site).length;
  const clear = others > 0 && (
    <button
      type="button"
      class="mini"
      title="Untick all names"
      onClick={() => {
        ui.ticked.value = new Set();
      }}
    >
      this alone
    </button>
  );
  return (
    <Section ui={ui} name="Over steps" about={wordFor(ui.statistic.value)} tools={clear}>
      <div class="chart-tools">
        <ChartTools ui={ui} view="inspector" />
      </div>
      <SeriesPlot run={run} ui={ui} keys={keys} names={namesOf(shown)} dark={dark} />
      {keys.length === 0 && <p class="muted">It has no {wordFor(ui.statistic.value)}: choose another statistic.</p>}
    </Section>
  );
}

/** With their lines where several are called the same. */
function namesOf(sites: readonly WatchSite[]): string[] {
  const names = sites.map(watchedName);
  return names.map((name, i) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} :${sites[i]?.line}`,
  );
}

interface SeriesProps {
  run: RunStore;
  ui: UiState;
  /** Each `site/value`. */
  keys: readonly string[];
  /** What each is called. */
  names: readonly string[];
  dark: boolean;
}

/** How the inspector draws curves, with the moment that is looked at. */
export function lookOf(run: RunStore, ui: UiState) {
  const moment = ui.moment.value;
  return {
    axis: ui.axis.value,
    smoothing: ui.smoothing.inspector.value,
    during: null,
    moment: moment === null ? null : run.log.time(run.log.lowerBound(moment + 1) - 1),
  };
}

export function SeriesPlot({ run, ui, keys, names, dark }: SeriesProps) {
  run.watch();
  const series = run.watched.plotted(keys);
  if (series.length === 0) return null;
  const key = keys.join();
  const all = { run, ui, all: series, ghosts: [], plotKey: key, look: lookOf(run, ui), dark };
  return <Plot key={key} {...all} called={names} />;
}
