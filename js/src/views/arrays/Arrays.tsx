/** The values that are arrays: one of them, at one step and lane, as a picture. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count } from "../../kit/format";
import { FilteredStream } from "../../store/filter";
import { Query } from "../../store/query";
import type { RunStore } from "../../store/run";
import type { Positions } from "../../store/stream";
import type { UiState } from "../../store/ui";
import { LineOf } from "../source/LineOf";
import { Full } from "./Full";
import { PlaneChoice, usePlane } from "./PlaneChoice";
import { usePicture } from "./picture";
import { Slice } from "./Slice";
import { Slider } from "./Slider";
import { Spread } from "./Spread";
import { type ArrayValue, allArrays, namesOf } from "./values";

/** To choose from. */
const MOST_LANES = 512;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: boolean;
}

export function Arrays({ run, ui, dark }: Props) {
  run.watch();
  const arrays = allArrays(run);
  const shown = arrays.find((array) => array.key === ui.array.value) ?? arrays[0];
  if (!shown) {
    return (
      <div class="empty">
        <strong>No array in this run</strong>
        <span>Every array that is printed or handed to a callback can be looked at here, step by step.</span>
      </div>
    );
  }
  return (
    <div class="arrays" data-testid="arrays">
      <ArrayAtStep key={shown.key} run={run} ui={ui} dark={dark} array={shown} arrays={arrays}>
        <LineOf run={run} ui={ui} site={shown.site} />
      </ArrayAtStep>
    </div>
  );
}

interface ChosenProps extends Props {
  array: ArrayValue;
  arrays: ArrayValue[];
  /** Further tools. */
  children?: ComponentChildren;
}

/** One of the arrays, at the step that is looked at. */
export function ArrayAtStep({ run, ui, dark, array, arrays, children }: ChosenProps) {
  run.watch();
  const [lane, setLane] = useState("");
  const [spread, setSpread] = useState(false);
  const events = useFirings(run, ui, array.site.id, lane);
  const last = events.length - 1;
  const moment = ui.moment.value;
  const at = moment === null ? last : events.lowerBound(run.log.lowerBound(moment + 1)) - 1;
  const event = at < 0 ? -1 : run.log.number(events.at(at));
  // As it was compiled for that firing.
  const shape = (at < 0 ? null : run.siteAt(events.at(at))?.shapes[array.value]) ?? array.shape;
  const [picture, useAnswer] = usePicture(shape, array.dtype);
  const [plane, planeProps] = usePlane(shape, picture.is);
  const wanted = { event, value: array.value, ...plane, image: picture.is };
  const answer = spread || event < 0 ? undefined : run.arrays.get(wanted);
  useAnswer(answer);
  const lanes = run.lanes.get(array.site.id) ?? 0;
  return (
    <>
      <div class="toolbar">
        {(arrays.length > 1 || children) && <ArrayChoice ui={ui} array={array} arrays={arrays} />}
        {children}
        {lanes > 0 && <LaneChoice lanes={lanes} lane={lane} setLane={setLane} />}
        <Slider
          name="print"
          value={at}
          most={last}
          text={`${count(at + 1)} of ${count(last + 1)}`}
          set={(i) => {
            ui.moment.value = i === last ? null : run.log.number(events.at(i));
          }}
        />
        <PlaneChoice {...planeProps} />
        <button
          type="button"
          class="toggle"
          aria-pressed={spread}
          data-testid="spread-toggle"
          title="How its elements are spread, from event to event"
          onClick={() => setSpread(!spread)}
        >
          histograms
        </button>
        {picture.mayBe && (
          <button type="button" class="toggle" aria-pressed={picture.is} onClick={picture.toggle}>
            image
          </button>
        )}
      </div>
      {spread ? (
        <Spread run={run} ui={ui} array={array} dark={dark} />
      ) : event < 0 ? (
        <div class="empty">
          {events.length > 0 ? "It had not been printed at this step." : "It has not been printed yet."}
        </div>
      ) : (
        <Slice answer={answer} name={array.name} dark={dark} gone={run.gone}>
          <Full run={run} wanted={wanted} name={array.name} />
        </Slice>
      )}
    </>
  );
}

function ArrayChoice({ ui, array, arrays }: Pick<ChosenProps, "ui" | "array" | "arrays">) {
  const names = namesOf(arrays);
  return (
    <select
      aria-label="Array"
      title="Which array"
      data-testid="array-choice"
      value={array.key}
      onChange={(event) => {
        ui.array.value = event.currentTarget.value;
      }}
    >
      {arrays.map(({ key }, i) => (
        <option key={key} value={key}>
          {names[i]}
        </option>
      ))}
    </select>
  );
}

function LaneChoice({ lanes, lane, setLane }: { lanes: number; lane: string; setLane: (lane: string) => void }) {
  return (
    <select aria-label="Lane" value={lane} onChange={(event) => setLane(event.currentTarget.value)}>
      <option value="">all lanes</option>
      {Array.from({ length: Math.min(lanes, MOST_LANES) }, (_, i) => (
        <option key={i} value={String(i)}>
          lane {i}
        </option>
      ))}
    </select>
  );
}

/** The firings of one site, in one lane or all. */
function useFirings(run: RunStore, ui: UiState, site: number, lane: string): Positions {
  const call = ui.onlyCall.value;
  const firings = useMemo(
    () => new FilteredStream(run, run.whole, [new Query(lane && `lane:${lane}`)], { site, call, noGaps: true }),
    [run, site, lane, call],
  );
  return firings.update();
}
