/** What a row of the tree of names stands for, a watched value or one of the values of a print. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched, type WatchSite } from "../../store/watched";
import type { SiteMessage } from "../../transport/wire";
import { siteName, watchedName } from "../sites/name";

export interface Leaf {
  /** `site`, of a print `site/value`. */
  key: string;
  name: string;
  site: SiteMessage;
  /** Which value of a print; -1 of what is watched. */
  value: number;
}

export function watchedLeaf(site: WatchSite): Leaf {
  return { key: String(site.id), name: watchedName(site), site, value: -1 };
}

/** The values that prints and callbacks had, each process's own once. */
export function printedLeaves(run: RunStore): Leaf[] {
  return run.streamSites
    .filter(({ id, kind }) => kind !== "breakpoint" && !run.isCopy(id))
    .flatMap((site) => partsOf(run, site).map((value) => printedLeaf(run, site, value)));
}

/** The values of a print that have a picture or a curve. */
export function partsOf(run: RunStore, { id, values, shapes }: SiteMessage): number[] {
  return [...values.keys()].filter((value) => (shapes[value]?.length ?? 0) > 0 || run.series.get(id, value));
}

function printedLeaf(run: RunStore, site: SiteMessage, value: number): Leaf {
  return { key: `${site.id}/${value}`, name: siteName(run, site, site.values[value]), site, value };
}

/** The leaf of a key; undefined where there is none. */
export function leafOf(run: RunStore, key: string): Leaf | undefined {
  const [id, value] = key.split("/").map(Number) as [number, number | undefined];
  const site = run.sites.get(id);
  if (!site) return undefined;
  return isWatched(site) ? watchedLeaf(site) : printedLeaf(run, site, value ?? 0);
}

/** The key of what is inspected, "" for nothing. */
export function inspectedKey(run: RunStore, ui: UiState): string {
  const site = ui.value.value === null ? undefined : run.sites.get(ui.value.value);
  if (!site) return "";
  if (isWatched(site)) return String(site.id);
  return ui.part.value.startsWith(`${site.id}/`) ? ui.part.value : `${site.id}/${partsOf(run, site)[0] ?? 0}`;
}
