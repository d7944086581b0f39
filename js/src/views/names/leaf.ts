/** A leaf of the tree of names: a watched value, or a value of a print. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched, type WatchSite } from "../../store/watched";
import type { SiteMessage } from "../../transport/wire";
import { siteName, watchedName } from "../sites/name";

export interface Leaf {
  /** The key: `site` for a watched value, `site/value` for a value of a print. */
  key: string;
  name: string;
  site: SiteMessage;
  /** The index of the value in a print; -1 for a watched value. */
  value: number;
}

export function watchedLeaf(site: WatchSite): Leaf {
  return { key: String(site.id), name: watchedName(site), site, value: -1 };
}

/** Returns the values of prints and callbacks, without copies of the same values in other processes. */
export function printedLeaves(run: RunStore): Leaf[] {
  return run.streamSites
    .filter(({ id, kind }) => kind !== "breakpoint" && !run.isCopy(id))
    .flatMap((site) => partsOf(run, site).map((value) => printedLeaf(run, site, value)));
}

/** Returns the indices of a print's values that have a picture or a curve. */
export function partsOf(run: RunStore, { id, values, shapes }: SiteMessage): number[] {
  return [...values.keys()].filter((value) => (shapes[value]?.length ?? 0) > 0 || run.series.get(id, value));
}

function printedLeaf(run: RunStore, site: SiteMessage, value: number): Leaf {
  return { key: `${site.id}/${value}`, name: siteName(run, site, site.values[value]), site, value };
}

/** Returns the leaf with this key; undefined if there is none. */
export function leafOf(run: RunStore, key: string): Leaf | undefined {
  const [id, value] = key.split("/").map(Number) as [number, number | undefined];
  const site = run.sites.get(id);
  if (!site) return undefined;
  return isWatched(site) ? watchedLeaf(site) : printedLeaf(run, site, value ?? 0);
}

/** Returns the key of the inspected leaf; "" if there is none. */
export function inspectedKey(run: RunStore, ui: UiState): string {
  const site = ui.value.value === null ? undefined : run.sites.get(ui.value.value);
  if (!site) return "";
  if (isWatched(site)) return String(site.id);
  return ui.part.value.startsWith(`${site.id}/`) ? ui.part.value : `${site.id}/${partsOf(run, site)[0] ?? 0}`;
}
