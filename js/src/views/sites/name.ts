/** What a site is called in the panel. */
import type { RunStore } from "../../store/run";
import type { WatchSite } from "../../store/watched";
import type { SiteMessage } from "../../transport/wire";

export function siteName(run: RunStore, site: SiteMessage, value?: string): string {
  const caller = run.apart.get(site.id);
  return `${value || site.label || site.source.trim() || site.where}${caller ? ` · ${caller}` : ""}`;
}

/** Of a watched value: its variable, or the expression that computes it. */
export function watchedName({ watch, phase }: WatchSite): string {
  return `${watch.role === "gradient" ? "∂ " : ""}${watch.name}${phase === "recompute" ? " (recompute)" : ""}`;
}
