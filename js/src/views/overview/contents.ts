/** What the overview of a run draws and says, by the rules of `store/headline.ts` and `store/groups.ts`. */

import type { Band } from "../../store/band";
import { activationLeaves, gradientLeaves, type Leaf, ratioLeaves } from "../../store/charted";
import { HUES, huesOf, inLoop, isBias, kindOf, largest, numbered, pathOf, titleOf } from "../../store/groups";
import {
  bornOf,
  type Course,
  compiledOf,
  type Known,
  type Numbers,
  paceOf,
  paceOfCalls,
  type Rank,
  rankOf,
  withoutCounters,
} from "../../store/headline";
import { type Lanes, laneCount, laneCourse, laneSeries, lanesOf, rangeWords } from "../../store/lanes";
import type { RunStore } from "../../store/run";
import { Line, type Series } from "../../store/series";
import { derivativeOf, isWatched, type WatchSite, type WatchTable } from "../../store/watched";
import type { FindingMessage } from "../../transport/wire";
import { siteName, watchedName } from "../sites/name";
import type { OneLine } from "./Lines";

/** The number of events in which to look for a site's last one. */
const LOOKED_AT = 1000;
/** The most lines in one chart. */
const MOST_LINES = 48;
/** The statistics by which two values are found to be the same. */
const NEWEST = ["min", "max", "mean", "std"];
/** A loop with more steps sends its events while it runs. */
const STREAMED = 64;

export interface Scalar extends Numbers {
  where: string;
  rank: Rank;
  /** Set if the numbers are means over the lanes of a `vmap`. */
  lanes?: Lanes | undefined;
}

/** The numbers with one name. If several places have that name, each is a line. */
export interface Chart {
  name: string;
  /** The place of a single line; "" if there are several. */
  where: string;
  lines: OneLine[];
}

export interface GroupLine {
  series: Series;
  group: string;
  leaf: string;
  hue: number;
  dashed: boolean;
}

export interface Group {
  lines: GroupLine[];
  /** The number of lines left out. */
  more: number;
}

/** Returns the numbers to draw by default, the most important first. */
export function scalarsOf(run: RunStore): Scalar[] {
  const printed = run.series.all().flatMap((series): Scalar[] => {
    const site = run.sites.get(series.site);
    if (!site || run.isCopy(site.id)) return [];
    const name = siteName(run, site, site.values[series.value]);
    const rank = rankOf(name, { forward: site.phase === "forward", watched: false });
    return [{ series, name, dtype: site.dtypes[series.value] ?? "", where: site.where, rank }];
  });
  const taken = new Set(printed.map(({ name }) => name));
  const watched = watchedSites(run).flatMap((site): Scalar[] => {
    const table = run.watched.tables.get(site.id);
    if (site.watch.role !== "value" || site.phase === "recompute" || !table) return [];
    const isOfLanes = laneCount(site.watch) > 0;
    if (!table.isScalar && !isOfLanes) return [];
    const name = watchedName(site);
    const rank = rankOf(name, { forward: site.phase === "forward", watched: true });
    if (taken.has(name) || site.watch.primitive === "argument" || isTree(site)) return [];
    const series = isOfLanes ? laneSeries(run.watched, site) : run.watched.plotted([`${site.id}/0`])[0];
    if (!series || series.total === 0) return [];
    const lanes = isOfLanes ? lanesOf(table) : undefined;
    return [{ series, name, dtype: site.watch.dtype, where: site.where, rank, lanes }];
  });
  const order = ({ series }: Scalar) => run.rank.get(series.site) ?? 0;
  const all = withoutCounters([...printed, ...watched]).sort((a, b) => a.rank - b.rank || order(a) - order(b));
  return all.filter((scalar, i) => !all.slice(0, i).some((other) => isSame(scalar, other)));
}

/** Returns a chart for each name. What a loop returns is no line beside those of its steps. */
export function byName(scalars: readonly Scalar[]): Chart[] {
  const names = [...new Set(scalars.map(({ name }) => name))];
  return names.map((name) => {
    const ofName = scalars.filter((scalar) => scalar.name === name);
    const named = inLoop(ofName, ({ series }) => series.total);
    const lines = named.map(({ series, where }, i): OneLine => {
      return { series, group: "", name: named.length > 1 ? where : name, hue: Math.min(i, HUES), dashed: false };
    });
    const [first] = named.length > 1 ? [] : named;
    return { name, where: `${first?.where ?? ""}${first?.lanes ? `, ${rangeWords(first.lanes)}` : ""}`, lines };
  });
}

/** Whether two series are of one value: a function and its caller often use the same name for its result. */
function isSame({ name, series: a }: Scalar, { name: other, series: b }: Scalar): boolean {
  return name === other && a.total === b.total && Object.is(a.last, b.last) && Object.is(a.newest, b.newest);
}

function watchedSites(run: RunStore): WatchSite[] {
  return [...run.sites.values()].filter(isWatched).filter(({ id }) => !run.isCopy(id));
}

function isTree({ watch }: WatchSite): boolean {
  const path = pathOf(watch.name);
  return path !== null && path.leaf !== "" && kindOf(path.root) !== "";
}

/** Returns the norm of an array or the absolute value of a number; NaN if any element was not finite. */
function norm(table: WatchTable, row: number): number | undefined {
  const y = table.isBad(row) ? Number.NaN : table.at(row, table.isScalar ? "value" : "l2");
  return y === undefined ? undefined : Math.abs(y);
}

function spread(table: WatchTable, row: number): number | undefined {
  return table.isBad(row) ? Number.NaN : table.at(row, "std");
}

function normOf(run: RunStore, { id, values }: WatchSite): Series | undefined {
  return run.watched.derived(`norm ${id}`, id, Math.max(0, values.indexOf("l2")), norm);
}

/** Returns the norms of the parameters' gradients; if no parameter is known, of all named gradients. */
export function gradientsOf(run: RunStore): Group {
  return groupOf(run, gradientLeaves(watchedSites(run)), (run, site) => {
    const series = normOf(run, site);
    return series && site.watch.role === "gradient" && site.watch.shape.length === 0 && isOne(series)
      ? undefined
      : series;
  });
}

/** Whether a series is constantly 1, as the gradient of a loss with respect to itself. */
function isOne({ first, marks }: Series): boolean {
  return first instanceof Line && marks.x.length === 0 && first.y.view().every((y) => y === 1);
}

/** Returns the ratio of each update's norm to its parameter's norm. */
export function ratiosOf(run: RunStore): Group {
  const both = ratioLeaves(watchedSites(run));
  const parameters = new Map(both.map(({ leaf, of }) => [leaf.site, of]));
  const leaves = both.map(({ leaf }) => leaf);
  return groupOf(run, leaves, (run, site) => {
    const beside = run.watched.tables.get(parameters.get(site)?.id ?? -1);
    return run.watched.derived(`ratio ${site.id}`, site.id, Math.max(0, site.values.indexOf("l2")), (table, row) => {
      if (!beside || beside.length === 0) return undefined;
      const other = beside.rowBeside(table, row, { moment: null, call: table.at(row, "call") ?? null });
      const [step, size] = [norm(table, row), other < 0 ? undefined : norm(beside, other)];
      // There is no ratio to a parameter that is 0.
      return step === undefined || size === undefined || size === 0 ? undefined : step / size;
    });
  });
}

/** Returns the standard deviations of the arrays that the forward pass computes. */
export function spreadsOf(run: RunStore): Group {
  const seen = new Set<string>();
  const found = activationLeaves(watchedSites(run)).filter(({ site }) => {
    const newest = run.watched.tables.get(site.id);
    // A function and its caller often use the same name for its result.
    const last = NEWEST.map((name) => newest?.at(newest.length - 1, name));
    const same = `${site.watch.name} ${newest?.total} ${last}`;
    return !seen.has(same) && seen.add(same);
  });
  const names = found.map(({ site }) => site.watch.name);
  const labels = numbered(
    found.map(({ site }) => {
      const { name } = site.watch;
      const isShared = names.indexOf(name) !== names.lastIndexOf(name);
      const apart = run.apart.get(site.id) ?? (isShared ? `:${site.line}` : "");
      return [name, apart].filter(Boolean).join(" ");
    }),
  );
  const leaves = found.map(({ site, path }, i) => ({ site, path: { ...path, group: labels[i] as string } }));
  return groupOf(run, leaves, (run, { id, values }) =>
    run.watched.derived(`std ${id}`, id, values.indexOf("std"), spread),
  );
}

function groupOf(
  run: RunStore,
  leaves: readonly Leaf<WatchSite>[],
  series: (run: RunStore, site: WatchSite) => Series | undefined,
): Group {
  const comparable = inLoop(leaves, ({ site }) => run.watched.tables.get(site.id)?.total ?? 0);
  const all = comparable.flatMap(({ site, path }) => {
    const curve = series(run, site);
    if (!curve || curve.total === 0) return [];
    const [group, leaf, dashed] = [titleOf(path), path.group ? path.leaf : "", isBias(path.leaf)];
    return [{ series: curve, group, leaf, dashed, size: curve.last }];
  });
  const curves = largest(all, MOST_LINES);
  // Lines of a group are adjacent: layers by number, biases last. Other values keep the order of the program.
  const byName = curves.some(({ leaf }) => leaf !== "");
  if (byName)
    curves.sort(
      (a, b) => a.group.localeCompare(b.group, "en", { numeric: true }) || Number(a.dashed) - Number(b.dashed),
    );
  const hues = huesOf(curves);
  const lines = curves.map(({ size: _, ...line }) => ({ ...line, hue: hues.get(line.group) ?? 0 }));
  return { lines, more: all.length - curves.length };
}

/** Returns the input of the facts. */
export function knownOf(run: RunStore, scalars: readonly Scalar[], findings: readonly FindingMessage[]): Known {
  const lead = scalars.find(({ series }) => series.elements.size === 1) ?? null;
  const series = lead?.series ?? longest(run);
  const steps = series ? stepsOf(series) : 0;
  return {
    steps,
    pace: lead?.series.first ? paceAt(run, lead.series.site, lead.series.first, steps) : null,
    elapsed: run.status?.elapsed ?? 0,
    loss: courseOf(scalars, 0),
    quality: courseOf(scalars, 1),
    nan: badOf(run) ?? bornOf(findings),
    findings: run.status?.findings ?? 0,
    checked: run.status?.checked ?? "",
    compiled: compiledOf(run.calls.values()),
  };
}

/** Returns the number of steps of a series, including steps at which the value was not finite. */
function stepsOf({ first, marks }: Series): number {
  const ends = [first?.x, marks.x].flatMap((x) => (x && x.length > 0 ? [Math.floor(x.at(-1)) + 1] : []));
  return Math.max(0, ...ends);
}

/** Returns the mean time of a step in seconds, from the times of calls or, in a long loop, of its events. */
function paceAt(run: RunStore, site: number, { x, time }: Line | Band, steps: number): number | null {
  const { log } = run;
  let at = log.length - 1;
  while (at >= 0 && log.site(at) !== site && log.length - at < LOOKED_AT) at--;
  const call = at >= 0 && log.site(at) === site ? run.calls.get(log.call(at)) : undefined;
  if (!call) return null;
  const calls = [...run.calls.values()];
  const since = run.status?.resumed ?? 0;
  const byCalls = paceOfCalls(calls, call.name, steps, since);
  if (byCalls !== null) return byCalls;
  const from = time.lowerBound(Math.max(call.started, since));
  return x.length - from > STREAMED ? paceOf(x.view().subarray(from), time.view().subarray(from)) : null;
}

/** Returns the watched series with the most rows, to count steps if no number is drawn. */
function longest(run: RunStore) {
  const rows = ({ id }: WatchSite) => run.watched.tables.get(id)?.total ?? 0;
  const [site] = watchedSites(run)
    .filter(({ phase }) => phase === "forward")
    .sort((a, b) => rows(b) - rows(a));
  return site && run.watched.plotted([`${site.id}/0`])[0];
}

function courseOf(scalars: readonly Scalar[], rank: Rank): Course | null {
  const found = scalars.find((scalar) => scalar.rank === rank && scalar.series.elements.size === 1);
  if (!found) return null;
  const { series, name, where, lanes } = found;
  if (series.isOfLanes) return { name, where, ...laneCourse(series) };
  if (series.strands !== 1) return null;
  const [mark = Number.POSITIVE_INFINITY] = series.marks.x.view();
  const line = series.first;
  const first = !line || line.y.length === 0 || mark < line.x.at(0) ? series.marks.y.at(0) : line.y.at(0);
  return { name, where, first, last: series.last, lanes };
}

function badOf(run: RunStore): Known["nan"] {
  const first = run.status?.first_nonfinite;
  const position = first ? run.log.find(first.event) : -1;
  const site = first && run.sites.of(first.site, position < 0 ? 0 : run.log.type(position));
  if (!site) return null;
  const time = position < 0 ? Number.NaN : run.log.time(position);
  const all = isWatched(site)
    ? run.watched.plotted([`${site.id}/0`])
    : run.series.all().filter((series) => series.site === site.id);
  const stepsOf = ({ marks: { x, time: at } }: Series) =>
    [...at.view()].flatMap((markTime, i) => (markTime === time ? [x.at(i)] : []));
  const steps = all.flatMap(stepsOf);
  const badValue = site.values.length === 1 ? 0 : all.find((series) => stepsOf(series).length > 0)?.value;
  const name = isWatched(site)
    ? watchedName(site)
    : siteName(run, site, badValue === undefined ? undefined : site.values[badValue]);
  const where = first.where || (isWatched(site) && derivativeOf(site)?.where) || site.where;
  const step = steps.length > 0 ? Math.floor(Math.min(...steps)) : null;
  const device = run.devices[position < 0 ? -1 : run.log.device(position)] ?? "";
  return { name, where, step, lane: first.lane ?? [], device, nan: first.nan };
}
