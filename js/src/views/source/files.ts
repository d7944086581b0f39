/** The files whose values are watched and the functions in them, the notebook's cells first. */
import type { RunStore } from "../../store/run";
import { isWatched } from "../../store/watched";

export interface WatchedFunction {
  name: string;
  /** The first line with a value. */
  line: number;
}

export interface WatchedFile {
  file: string;
  /** What a person calls it: `In [7]`, `model.py`. */
  name: string;
  functions: WatchedFunction[];
}

export function filesOf(run: RunStore): WatchedFile[] {
  const files = new Map<string, WatchedFile>();
  for (const id of run.watched.tables.keys()) {
    const site = run.sites.get(id);
    if (!site || !isWatched(site)) continue;
    let file = files.get(site.file);
    if (!file) {
      file = { file: site.file, name: site.where.replace(/:\d+$/, ""), functions: [] };
      files.set(site.file, file);
    }
    const known = file.functions.find(({ name }) => name === site.function);
    if (known) known.line = Math.min(known.line, site.line);
    else file.functions.push({ name: site.function, line: site.line });
  }
  for (const { functions } of files.values()) functions.sort((a, b) => a.line - b.line);
  return [...files.values()].sort((a, b) => Number(isCell(b)) - Number(isCell(a)));
}

function isCell({ name }: WatchedFile): boolean {
  return name.startsWith("In [");
}

/** The last one that has a value at `line` or before. */
export function functionAt({ functions }: WatchedFile, line: number): number {
  return Math.max(0, functions.filter((one) => one.line <= line).length - 1);
}
