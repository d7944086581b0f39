/** Reads watched values from the frame of a stop, before their own events exist. */
import type { RunStore } from "../../store/run";
import { isWatched, type WatchSite } from "../../store/watched";
import type { FrameMessage, LocalMessage, StopBody } from "../../transport/stops";
import type { SiteMessage } from "../../transport/wire";

/**
 * Returns the variable of the selected frame that has the value of a site. Returns null if another line of the
 * function, or a Python loop, may have assigned the name since.
 */
export function localOf(run: RunStore, { watch, ...site }: WatchSite, stop: StopBody): LocalMessage | null {
  const frame = stop.frames[stop.frame];
  if (!frame || watch.role !== "value" || !isIn(frame, site) || site.end_line >= frame.line) return null;
  const local = frame.locals.find(({ name }) => name === watch.name);
  if (!local?.stats || `${local.shape}` !== `${watch.shape}` || local.dtype !== watch.dtype) return null;
  for (const id of run.watched.tables.keys()) {
    const other = run.sites.get(id);
    if (!other || id === site.id || !isWatched(other) || !isIn(frame, other)) continue;
    if (other.watch.role === "value" && other.watch.name === watch.name && other.line >= site.line) return null;
  }
  return local;
}

function isIn(frame: FrameMessage, { file, function: name }: Pick<SiteMessage, "file" | "function">): boolean {
  return file === frame.file && name === frame.function;
}

/** Returns a statistic of a variable, by its name for watched values; undefined if the stop does not have it. */
export function statisticOfLocal({ stats, text }: LocalMessage, name: string): number | undefined {
  if (!stats) return undefined;
  const { size, nan, inf, zero, min, max, mean, std } = stats;
  const infinite = inf > 0 ? (text.includes("-inf") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY) : Number.NaN;
  const known: Record<string, number | undefined> = {
    value: min ?? infinite,
    min: min ?? Number.NaN,
    max: max ?? Number.NaN,
    mean: mean ?? Number.NaN,
    std: std ?? Number.NaN,
    zeros: zero,
    nan,
    ...(inf === 0 ? { posinf: 0, neginf: 0 } : {}),
    ...(nan + inf === 0 ? { l2: Math.sqrt(size * ((std ?? 0) ** 2 + (mean ?? 0) ** 2)) } : {}),
  };
  return known[name];
}
