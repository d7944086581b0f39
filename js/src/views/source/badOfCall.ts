/** What else was not finite in one call: where it began there, and whether anything of it reaches a result. */
import type { RunStore } from "../../store/run";
import { isWatched, type WatchSite } from "../../store/watched";

/** Of the events that were not finite, so many before and after are looked at. */
const MOST = 2048;

interface Bad {
  event: number;
  site: WatchSite;
}

/** The watched values that were not finite in the call of event `of`, in the order in which they came. */
function* badWith(run: RunStore, of: number): Generator<Bad> {
  const { log, watched, sites } = run;
  const position = log.find(of);
  if (position < 0) return;
  const [call, time] = [log.call(position), log.time(position)];
  const at = watched.bad.lowerBound(of);
  for (let i = Math.max(0, at - MOST); i < Math.min(watched.bad.length, at + MOST); i++) {
    const event = watched.bad.at(i);
    const other = log.find(event);
    if (other < 0 || (call >= 0 ? log.call(other) !== call : log.time(other) !== time)) continue;
    const site = sites.of(log.site(other), log.type(other));
    if (site && isWatched(site)) yield { event, site };
  }
}

/** The first of the call; null where it is the value of event `of` itself. */
export function firstOfCall(run: RunStore, of: number): WatchSite | null {
  let first: Bad | undefined;
  for (const one of badWith(run, of)) {
    // What a choice may leave out is the first only where nothing else is.
    if (!first || (first.site.watch.choice && !one.site.watch.choice)) first = one;
  }
  return !first || first.event >= of ? null : first.site;
}

/** Whether a choice may leave out a value that was not finite: not where its call has one that no choice leaves out. */
export function isMasked(run: RunStore, { watch }: WatchSite, of: number): boolean {
  if (!watch.choice) return false;
  for (const { site } of badWith(run, of)) if (!site.watch.choice) return false;
  return true;
}
