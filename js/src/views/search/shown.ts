/** Computes which events of a stream a view shows, and which of them are selected. */
import { useEffect, useMemo } from "preact/hooks";
import { FilteredStream } from "../../store/filter";
import { Query } from "../../store/query";
import type { RunStore } from "../../store/run";
import type { Positions, Stream } from "../../store/stream";
import type { UiState } from "../../store/ui";

export function useQuery(text: string): Query {
  return useMemo(() => new Query(text), [text]);
}

/** Returns the events of `stream` that pass the filter and, if there is one, the search `find`. */
export function useShown(run: RunStore, ui: UiState, stream: Stream, find = ""): Positions {
  run.watch();
  const filter = useQuery(ui.filter.value);
  const wanted = useQuery(find);
  const [site, call, noPhantoms] = [ui.site.value, ui.onlyCall.value, !ui.phantoms.value];
  const filtered = useMemo(
    () => new FilteredStream(run, stream, [filter, wanted], { site, call, noPhantoms }),
    [run, stream, filter, wanted, site, call, noPhantoms],
  );
  useEffect(() => {
    if (filtered.wantsLines) run.wantAllLines();
  });
  return filtered.update();
}

/** Returns the numbers of the shown events from `ui.anchor` to `ui.event`. */
export function selectedEvents(run: RunStore, { event, anchor, filter, site, onlyCall, phantoms }: UiState): number[] {
  if (event.value === null) return [];
  const only = { site: site.value, call: onlyCall.value, noPhantoms: !phantoms.value };
  const shown = new FilteredStream(run, run.merged, [new Query(filter.value)], only);
  const other = anchor.value ?? event.value;
  const start = run.log.lowerBound(Math.min(event.value, other));
  const end = run.log.lowerBound(Math.max(event.value, other) + 1);
  return shown
    .among(start, end)
    .filter((position) => run.log.gapCount(position) === 0)
    .map((position) => run.log.number(position));
}

/** Returns how many lines of a run are not here yet, so that a search has not seen them. */
export const unsearched = (run: RunStore) => run.next - run.oldest - run.texts.size;
