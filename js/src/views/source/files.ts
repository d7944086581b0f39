/**
 * The files with values, and the functions in them. Files with watched values come first, then files that only print.
 * In each group, the notebook's cells come first.
 */
import type { RunStore } from "../../store/run";
import { isWatched } from "../../store/watched";
import type { SiteMessage } from "../../transport/wire";

export interface CodeFunction {
  name: string;
  /** The first line of the function that has a value. */
  line: number;
}

export interface CodeFile {
  file: string;
  /** The short name of the file: `In [7]`, `model.py`. */
  name: string;
  functions: CodeFunction[];
}

export function filesOf(run: RunStore): CodeFile[] {
  const watched = filesOfSites(
    [...run.watched.tables.keys()].flatMap((id) => run.sites.get(id) ?? []).filter(isWatched),
  );
  const printed = filesOfSites(
    run.streamSites.filter(({ kind, values }) => kind !== "breakpoint" && values.length > 0),
  );
  return [...watched, ...printed.filter(({ file }) => watched.every((one) => one.file !== file))];
}

function filesOfSites(sites: readonly SiteMessage[]): CodeFile[] {
  const files = new Map<string, CodeFile>();
  for (const site of sites) {
    if (!site.file) continue;
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

function isCell({ name }: CodeFile): boolean {
  return name.startsWith("In [");
}

/** Returns the index of the last function that has a value at `line` or before. */
export function functionAt({ functions }: CodeFile, line: number): number {
  return Math.max(0, functions.filter((one) => one.line <= line).length - 1);
}
