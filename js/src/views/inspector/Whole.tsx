/** The value itself at the step, where it was taken: two of its axes as a picture, its numbers, the array as a file. */
import { whenOf } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { WatchSite } from "../../store/watched";
import { Full } from "../arrays/Full";
import { PlaneChoice, usePlane } from "../arrays/PlaneChoice";
import { usePicture } from "../arrays/picture";
import { Slice } from "../arrays/Slice";
import type { Seen } from "../source/reading";
import { Section } from "./Section";

export interface PartProps {
  run: RunStore;
  ui: UiState;
  site: WatchSite;
  found: Seen | null;
  dark: boolean;
}

export function Whole({ run, ui, site, found, dark }: PartProps) {
  run.watch();
  if (site.watch.shape.length === 0) return null;
  const isTaken = (found?.site ?? site).watch.full;
  return (
    <Section ui={ui} name="Value" about={found && isTaken ? whenOf(found.table, found.row) : ""}>
      {!isTaken ? (
        <p class="muted" data-testid="not-taken">
          Only its statistics were taken. With <code class="mono">--values</code> the array itself is kept at each step.
        </p>
      ) : found ? (
        <Taken run={run} found={found} dark={dark} />
      ) : (
        <p class="muted">It had not been computed at this step.</p>
      )}
    </Section>
  );
}

function Taken({ run, found: { table, row, site }, dark }: { run: RunStore; found: Seen; dark: boolean }) {
  const { shape, dtype, name } = site.watch;
  const [picture, useAnswer] = usePicture(shape, dtype);
  const [plane, planeProps] = usePlane(shape, picture.is);
  const wanted = { event: table.event(row), value: site.values.length - 1, ...plane, image: picture.is };
  const answer = run.arrays.get(wanted);
  useAnswer(answer);
  return (
    <>
      {(shape.length > 2 || picture.mayBe) && (
        <div class="axes">
          <PlaneChoice {...planeProps} />
          {picture.mayBe && (
            <button type="button" class="mini" aria-pressed={picture.is} onClick={picture.toggle}>
              image
            </button>
          )}
        </div>
      )}
      <Slice answer={answer} name={name} dark={dark} gone={run.gone}>
        <Full run={run} wanted={wanted} name={name} />
      </Slice>
    </>
  );
}
