/** The prints and callbacks in the code: each is inspected at its line, and shown there from the views that draw it. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched } from "../../store/watched";
import type { SiteMessage } from "../../transport/wire";
import type { WatchedFile } from "./files";

/** Of a file those that have values, by line. */
export function printsOf(run: RunStore, file: string): ReadonlyMap<number, readonly SiteMessage[]> {
  const lines = new Map<number, SiteMessage[]>();
  for (const site of run.sites.values()) {
    if (site.file !== file || isWatched(site) || site.values.length === 0 || run.isCopy(site.id)) continue;
    lines.set(site.line, [...(lines.get(site.line) ?? []), site]);
  }
  return lines;
}

/** The file of the place that is looked at, where prints alone are of it. */
export function printedFile(run: RunStore, ui: UiState): WatchedFile | undefined {
  const file = ui.place.value?.file;
  const sites = [...run.sites.values()].filter((site) => site.file === file && !isWatched(site));
  const [first] = sites;
  if (!first || !file) return undefined;
  const named = new Map(sites.map((site) => [site.function, site.line]));
  const functions = [...named].map(([name, line]) => ({ name, line })).sort((a, b) => a.line - b.line);
  return { file, name: first.where.replace(/:\d+$/, ""), functions };
}
