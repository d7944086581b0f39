/** The other values that were not finite in one call: the first of them, and whether one certainly reaches a result. */
import type { RunStore } from "../../store/run";
import { isWatched, type WatchSite } from "../../store/watched";

/** The number of events to search before and after, among those that were not finite. */
const MOST = 2048;

interface Bad {
  event: number;
  site: WatchSite;
}

/** Yields the watched values that were not finite in the call of event `event`, in order of arrival. */
function* badWith(run: RunStore, event: number): Generator<Bad> {
  const { log, watched, sites } = run;
  const position = log.find(event);
  if (position < 0) return;
  const [call, time] = [log.call(position), log.time(position)];
  const at = watched.bad.lowerBound(event);
  for (let i = Math.max(0, at - MOST); i < Math.min(watched.bad.length, at + MOST); i++) {
    const candidate = watched.bad.at(i);
    const other = log.find(candidate);
    if (other < 0 || (call >= 0 ? log.call(other) !== call : log.time(other) !== time)) continue;
    const site = sites.of(log.site(other), log.type(other));
    if (site && isWatched(site)) yield { event: candidate, site };
  }
}

/** Returns the first such value of the call; null if it is the value of event `event` itself. */
export function firstOfCall(run: RunStore, event: number): WatchSite | null {
  let first: Bad | undefined;
  for (const bad of badWith(run, event)) {
    // A value that a choice such as `where` may leave out is the first only if there is no other.
    if (!first || (first.site.watch.choice && !bad.site.watch.choice)) first = bad;
  }
  return !first || first.event >= event ? null : first.site;
}

/** Whether a choice may leave the value out. If its call has a value that no choice leaves out, the answer is no. */
export function isMasked(run: RunStore, { watch }: WatchSite, event: number): boolean {
  if (!watch.choice) return false;
  for (const { site } of badWith(run, event)) if (!site.watch.choice) return false;
  return true;
}
