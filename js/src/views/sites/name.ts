/** The names of sites in the panel. */
import { plain } from "../../kit/escapes";
import type { RunStore } from "../../store/run";
import { isWatched, LANES, SCALAR, type WatchSite } from "../../store/watched";
import type { SiteMessage } from "../../transport/wire";

export function siteName(run: RunStore, site: SiteMessage, value?: string): string {
  const caller = run.apart.get(site.id);
  const printed = value || plain(site.label) || site.source.trim() || site.where;
  const name = isWatched(site) ? ofWatched(site, value) : printed;
  return `${name}${caller ? ` · ${caller}` : ""}`;
}

/** Returns the name of a watched value, followed by the name of its statistic, if there is one. */
function ofWatched(site: WatchSite, value: string | undefined): string {
  const name = watchedName(site);
  if (value === undefined || value === SCALAR) return name;
  return value === LANES ? `${name} by lane` : `${name} ${value}`;
}

/** Returns the variable of a watched value, or the expression that computes it. */
export function watchedName({ watch, phase }: WatchSite): string {
  return `${watch.role === "gradient" ? "∂ " : ""}${watch.name}${phase === "recompute" ? " (recompute)" : ""}`;
}
