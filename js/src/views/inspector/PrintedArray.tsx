/** The array of a print or callback at the shown step, in the selected lane. */
import { useMemo } from "preact/hooks";
import { whenAt } from "../../store/clock";
import { FilteredStream } from "../../store/filter";
import { Query } from "../../store/query";
import type { RunStore } from "../../store/run";
import type { Positions } from "../../store/stream";
import type { UiState } from "../../store/ui";
import { OneArray } from "../arrays/OneArray";
import type { ArrayValue } from "../arrays/values";
import { Section } from "./Section";

/** The most lanes in the selection. */
const MOST_LANES = 512;

interface Props {
  run: RunStore;
  ui: UiState;
  array: ArrayValue;
  dark: boolean;
}

export function PrintedArray({ run, ui, array, dark }: Props) {
  run.watch();
  const { site, value, name } = array;
  const lanes = run.lanes.get(site.id) ?? 0;
  const lane = Number(ui.lane.value) < lanes ? ui.lane.value : "";
  const firings = useFirings(run, ui, site.id, lane);
  const at = firingAt(run, ui, firings);
  const position = at < 0 ? -1 : firings.at(at);
  // The shape with which the site was compiled for that firing.
  const shape = (at < 0 ? null : run.siteAt(position)?.shapes[value]) ?? array.shape;
  const when = at < 0 ? "" : whenAt((column) => run.log[column](position));
  return (
    <Section ui={ui} name="Value" about={when} tools={lanes > 0 && <LaneChoice ui={ui} lanes={lanes} lane={lane} />}>
      {at < 0 ? (
        <p class="muted">
          {firings.length > 0 ? "It had not been printed at this step." : "It has not been printed yet."}
        </p>
      ) : (
        <OneArray run={run} event={run.log.number(position)} {...{ value, shape, dtype: array.dtype, name, dark }} />
      )}
    </Section>
  );
}

function LaneChoice({ ui, lanes, lane }: { ui: UiState; lanes: number; lane: string }) {
  return (
    <select
      aria-label="Lane"
      title="Which lane of the vmap, in all views"
      value={lane}
      onChange={(event) => {
        ui.lane.value = event.currentTarget.value;
      }}
    >
      <option value="">all lanes</option>
      {Array.from({ length: Math.min(lanes, MOST_LANES) }, (_, i) => (
        <option key={i} value={String(i)}>
          lane {i}
        </option>
      ))}
    </select>
  );
}

/** Returns the firings of a site, in one lane or all. */
function useFirings(run: RunStore, ui: UiState, site: number, lane: string): Positions {
  const call = ui.onlyCall.value;
  const firings = useMemo(
    () => new FilteredStream(run, run.whole, [new Query(lane && `lane:${lane}`)], { site, call, noGaps: true }),
    [run, site, lane, call],
  );
  return firings.update();
}

/** Returns the index of the last firing until the shown moment; -1 if there is none. */
function firingAt(run: RunStore, ui: UiState, firings: Positions): number {
  const moment = ui.moment.value;
  if (moment === null) return firings.length - 1;
  return firings.lowerBound(run.log.lowerBound(run.log.endOf(moment) + 1)) - 1;
}
