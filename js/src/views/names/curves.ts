/**
 * The curves of the names that are plotted together: the selected statistic of watched values, the numbers of prints.
 */
import { lineOf } from "../../store/apart";
import { sameIn } from "../../store/earlier";
import { numbered } from "../../store/groups";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import type { UiState } from "../../store/ui";
import { isWatched } from "../../store/watched";
import type { Ghosts } from "../plots/drawn";
import { siteName } from "../sites/name";
import { type Leaf, leafOf } from "./leaf";
import { seriesKey } from "./statistic";

export interface Curve {
  series: Series;
  name: string;
  /** The same curve in earlier runs, if they are shown. */
  ghosts: Ghosts;
  isPrinted: boolean;
}

/** Returns the curves, in the order of their sites. A name without that statistic has none. */
export function curvesOf(run: RunStore, ui: UiState, keys: Iterable<string>): Curve[] {
  const leaves = [...new Set(keys)].flatMap((key) => leafOf(run, key) ?? []);
  leaves.sort((a, b) => a.site.id - b.site.id || a.value - b.value);
  return withUniqueNames(
    run,
    leaves.flatMap((leaf) => curvesOfLeaf(run, ui, leaf)),
  );
}

function curvesOfLeaf(run: RunStore, ui: UiState, { name, site, value }: Leaf): Curve[] {
  if (isWatched(site)) {
    const key = seriesKey(run, site, ui.statistic.value);
    return run.watched.plotted(key ? [key] : []).map((series) => ({ series, name, ghosts: [], isPrinted: false }));
  }
  const earlier = ui.earlier.value ? run.earlier : [];
  return inEachProcess(run, site.id).flatMap((id) => {
    const [copy, series] = [run.sites.get(id), run.series.get(id, value)];
    if (!copy || !series) return [];
    const ghosts = sameIn(earlier, run, series);
    return [{ series, name: siteName(run, copy, copy.values[value]), ghosts, isPrinted: true }];
  });
}

/** Returns the sites of one line in all processes of a job, without copies of the same values. */
function inEachProcess(run: RunStore, id: number): number[] {
  const wanted = run.sites.get(id);
  if (!wanted || !run.status?.processes.length) return [id];
  const key = (site: typeof wanted) => [lineOf(site), site.callers].join("\n");
  return run.streamSites.filter((site) => !run.isCopy(site.id) && key(site) === key(wanted)).map((site) => site.id);
}

/** Removes duplicates, and adds the line to names that several curves have. */
function withUniqueNames(run: RunStore, all: readonly Curve[]): Curve[] {
  const curves = all.filter(({ series }, i) => all.findIndex((other) => other.series === series) === i);
  const names = curves.map(({ name }) => name);
  const labels = numbered(
    curves.map(({ name, series }) => {
      const isAlone = names.indexOf(name) === names.lastIndexOf(name);
      return isAlone ? name : `${name} :${run.sites.get(series.site)?.line}`;
    }),
  );
  return curves.map((curve, i) => ({ ...curve, name: labels[i] as string }));
}
