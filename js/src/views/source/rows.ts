/** The lines of a file and the values that each of them computes, as rows of a list. */
import { asTyped, highlighted, type Span, type SpanKind } from "../../kit/python";
import type { RunStore } from "../../store/run";
import { isWatched, type WatchSite } from "../../store/watched";
import type { Source, SourceName } from "../../transport/wire";

/** The number of values that a line shows before it is opened. */
const MOST_OF_A_LINE = 3;
/** The number of lines in which a long expression is marked. */
const LONGEST = 200;

/** The value of an expression, with its gradient. */
export interface Value {
  /** The site of the value; the site of the gradient if only that is watched. */
  site: WatchSite;
  gradient: WatchSite | null;
  /** Whether its expression is a part of the expression of another value in its line. */
  isPart: boolean;
  /** Its number among the copies that an unrolled Python loop makes, and its process: `2/4`, `process 1`; "" if there is one. */
  nth: string;
}

export interface CodeLine {
  line: number;
  text: string;
  spans: Span[];
}

export interface Row {
  code: CodeLine;
  /** The index of the row among the rows of its line. Row 0 shows the code. */
  index: number;
  value: Value | null;
  /** A leaf that could be watched, if the row is only for this leaf. */
  leaf: SourceName | null;
  isLast: boolean;
  /** The number of hidden values and leaves of the line. */
  more: number;
}

export interface FileValues {
  /** The values by the line where their expression begins, in source order. */
  lines: ReadonlyMap<number, Value[]>;
  /** The values by each line that their expression includes. */
  over: ReadonlyMap<number, Value[]>;
}

/** Returns the values that the code of `file` computes. */
export function valuesOf(run: RunStore, file: string): FileValues {
  const groups = new Map<string, WatchSite[]>();
  for (const id of run.watched.tables.keys()) {
    const site = run.sites.get(id);
    if (!site || !isWatched(site) || site.file !== file || run.isCopy(id)) continue;
    const key = `${site.process} ${site.line} ${site.column} ${site.end_line} ${site.end_column} ${site.watch.name}`;
    const group = groups.get(key);
    if (group) group.push(site);
    else groups.set(key, [site]);
  }
  const values = [...groups.values()].flatMap(paired).sort(bySource);
  const processes = new Set([...run.sites.values()].map(({ process }) => process));
  if (processes.size > 1) {
    for (const value of values) value.nth = [value.nth, run.apart.get(value.site.id)].filter(Boolean).join(" · ");
  }
  const lines = new Map<number, Value[]>();
  const over = new Map<number, Value[]>();
  for (const value of values) {
    const { line, end_line } = value.site;
    value.isPart = lines.get(line)?.some((other) => contains(other.site, value.site)) ?? false;
    add(lines, line, value);
    for (let at = line; at <= Math.min(end_line, line + LONGEST); at++) add(over, at, value);
  }
  return { lines, over };
}

function add(lines: Map<number, Value[]>, line: number, value: Value): void {
  const before = lines.get(line);
  if (before) before.push(value);
  else lines.set(line, [value]);
}

/**
 * Pairs each value with its gradient. A gradient without a value stands for itself. `session/run/gradients.py` is its
 * twin.
 */
export function paired(sites: WatchSite[]): Value[] {
  const byOrder = [...sites].sort((a, b) => a.order - b.order || a.id - b.id);
  const values = byOrder.filter(({ watch }) => watch.role === "value");
  const gradients = byOrder.filter(({ watch }) => watch.role === "gradient");
  const found = values.map((site, i) => {
    // If there are several derivatives, the first one.
    const partner = gradients.find(({ id, watch }) => watch.value === site.id || id === site.watch.gradient) ?? null;
    const nth = values.length > 1 ? `${i + 1}/${values.length}` : "";
    return { site, gradient: partner, isPart: false, nth };
  });
  const unpaired = gradients.filter((site) => found.every(({ gradient }) => gradient !== site));
  return [...found, ...unpaired.map((site) => ({ site, gradient: site, isPart: false, nth: "" }))];
}

function bySource({ site: a }: Value, { site: b }: Value): number {
  return a.line - b.line || a.column - b.column || b.end_line - a.end_line || b.end_column - a.end_column;
}

function contains(a: WatchSite, b: WatchSite): boolean {
  const same = a.end_line === b.end_line && a.end_column === b.end_column && a.column === b.column;
  const ends = a.end_line - b.end_line || a.end_column - b.end_column;
  return !same && a.column <= b.column && ends >= 0;
}

/** Returns the lines as the user typed them, with their colours. */
export function linesOf(source: readonly string[], first: number): CodeLine[] {
  const lines = source.map(asTyped);
  const spans = highlighted(lines);
  return lines.map((text, i) => ({ line: first + i, text, spans: spans[i] ?? [] }));
}

/** Returns the lines of `source`. Without a source, returns the lines that the sites know. */
export function codeOf(run: RunStore, file: string, source: Source | null): CodeLine[] {
  if (source) {
    return linesOf(source.lines, source.first_line);
  }
  const lines = new Map<number, string>();
  for (const site of run.sites.values()) if (site.file === file) lines.set(site.line, site.source);
  const sorted = [...lines].sort(([a], [b]) => a - b);
  return sorted.map(([line, text]) => ({ line, text, spans: highlighted([text])[0] ?? [] }));
}

/**
 * Returns the rows of the list. `open` has the lines that show all their values. A name in `names` that could be
 * watched also gets a row.
 */
export function rowsOf(
  code: readonly CodeLine[],
  values: ReadonlyMap<number, Value[]>,
  open: ReadonlySet<number>,
  names: readonly SourceName[] = [],
): Row[] {
  const offered = new Map<number, SourceName[]>();
  for (const name of names) if (name.pattern) offered.set(name.line, [...(offered.get(name.line) ?? []), name]);
  return code.flatMap((line): Row[] => {
    const all = values.get(line.line) ?? [];
    const others = offered.get(line.line) ?? [];
    const leaves = others.filter(({ root }) => root);
    const isOpen = open.has(line.line);
    const shown = isOpen ? all : all.filter(({ isPart }) => !isPart).slice(0, MOST_OF_A_LINE);
    const more = all.length - shown.length + (isOpen ? 0 : leaves.length);
    const cells: Pick<Row, "value" | "leaf">[] = shown.map((value) => ({ value, leaf: null }));
    if (cells.length === 0 || others.length > leaves.length) cells.push({ value: null, leaf: null });
    if (isOpen) cells.push(...leaves.map((leaf) => ({ value: null, leaf })));
    return cells.map((cell, index) => ({ ...cell, code: line, index, isLast: index === cells.length - 1, more }));
  });
}

/** A part of a line. `value` is the value that it computes; null if the part is only coloured. */
export interface Piece {
  text: string;
  kind: SpanKind;
  value: Value | null;
  parts: Piece[];
}

interface Marked {
  start: number;
  end: number;
  value: Value;
}

/**
 * Splits a line into coloured pieces and pieces that the pointer can select, with smaller ranges inside larger ones.
 */
export function piecesOf({ line, text, spans }: CodeLine, values: readonly Value[]): Piece[] {
  const seen = new Set<string>();
  const marks = values.flatMap((value): Marked[] => {
    const { site } = value;
    const range = `${site.line} ${site.column} ${site.end_line} ${site.end_column}`;
    if (seen.has(range)) return [];
    seen.add(range);
    const start = line === site.line ? site.column : text.length - text.trimStart().length;
    const end = line === site.end_line ? site.end_column : text.length;
    const name = line === site.line ? targetOf(text.slice(0, start), site.watch.name) : -1;
    const target = name < 0 ? [] : [{ start: name, end: name + site.watch.name.length, value }];
    return end > start ? [...target, { start, end, value }] : target;
  });
  marks.sort((a, b) => a.start - b.start || b.end - a.end);
  return cut(spans, marks, 0, text.length);
}

/** Returns where `name` is assigned in the text before its value; -1 if it is not. */
function targetOf(before: string, name: string): number {
  const at = before.lastIndexOf(name);
  const isWord = /^\W*$/.test(`${before[at - 1] ?? ""}${before[at + name.length] ?? ""}`);
  return at >= 0 && isWord && name !== "" ? at : -1;
}

function cut(spans: readonly Span[], marks: readonly Marked[], from: number, to: number): Piece[] {
  const pieces: Piece[] = [];
  let at = from;
  for (let i = 0; i < marks.length; ) {
    const mark = marks[i] as Marked;
    const rest = marks.slice(i + 1);
    const within = rest.filter(({ start, end }) => start >= mark.start && end <= mark.end && start < mark.end);
    if (mark.start >= at && mark.end <= to) {
      pieces.push(...coloured(spans, at, mark.start));
      const parts = cut(spans, within, mark.start, mark.end);
      pieces.push({ text: "", kind: "", value: mark.value, parts });
      at = mark.end;
    }
    i += 1 + within.length;
  }
  return [...pieces, ...coloured(spans, at, to)];
}

/** Returns the pieces of the columns from `from` up to `to`. */
function coloured(spans: readonly Span[], from: number, to: number): Piece[] {
  let at = 0;
  return spans.flatMap(([kind, text]): Piece[] => {
    const part = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += text.length;
    return part ? [{ text: part, kind, value: null, parts: [] }] : [];
  });
}
