/** The prints and callbacks in the code. Each can be inspected at its line. */
import type { RunStore } from "../../store/run";
import { isWatched } from "../../store/watched";
import type { SiteMessage } from "../../transport/wire";

/** Maps each line of a file to its sites that have values. */
export function printsOf(run: RunStore, file: string): ReadonlyMap<number, readonly SiteMessage[]> {
  const lines = new Map<number, SiteMessage[]>();
  for (const site of run.sites.values()) {
    if (site.file !== file || isWatched(site) || site.values.length === 0 || run.isCopy(site.id)) continue;
    lines.set(site.line, [...(lines.get(site.line) ?? []), site]);
  }
  return lines;
}
