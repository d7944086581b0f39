/** The prints and callbacks in the code: each is inspected at its line. */
import type { RunStore } from "../../store/run";
import { isWatched } from "../../store/watched";
import type { SiteMessage } from "../../transport/wire";

/** Of a file those that have values, by line. */
export function printsOf(run: RunStore, file: string): ReadonlyMap<number, readonly SiteMessage[]> {
  const lines = new Map<number, SiteMessage[]>();
  for (const site of run.sites.values()) {
    if (site.file !== file || isWatched(site) || site.values.length === 0 || run.isCopy(site.id)) continue;
    lines.set(site.line, [...(lines.get(site.line) ?? []), site]);
  }
  return lines;
}
