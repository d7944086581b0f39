/** A slice of an array of the frame: a line for each row if there are few rows, otherwise a picture. */
import { useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { StopBody } from "../../transport/stops";
import { Lines, mayBeLines } from "../arrays/Lines";
import { PictureSwitch } from "../arrays/PictureSwitch";
import { PlaneChoice, usePlane } from "../arrays/PlaneChoice";
import { usePicture } from "../arrays/picture";
import { Slice, useLast } from "../arrays/Slice";
import { meanwhile } from "./ways";

interface Props {
  run: RunStore;
  stop: StopBody;
  stands: boolean;
  name: string;
  shape: readonly number[];
  dtype: string;
  dark: boolean;
}

export function LocalArray({ run, stop, stands, name, shape, dtype, dark }: Props) {
  run.watch();
  const [picture, useAnswer] = usePicture(shape, dtype);
  const [lines, setLines] = useState(true);
  const { locals } = run.debugger;
  const [plane, planeProps] = usePlane(shape, picture.is);
  const wanted = { stop: stop.id, frame: stop.frame, name, ...plane, image: picture.is };
  const areLines = mayBeLines(shape) && !plane.axes;
  const answer = stands ? locals.get(wanted) : locals.known(wanted);
  useAnswer(answer);
  const slice = useLast(answer);
  return (
    <div data-testid="local-array">
      <PlaneChoice {...planeProps} />
      <PictureSwitch picture={picture} />
      {areLines && (
        <button
          type="button"
          class="mini"
          aria-pressed={lines}
          title="Draw the rows as lines"
          onClick={() => setLines(!lines)}
        >
          plot
        </button>
      )}
      {!stands && answer === undefined ? (
        <p class="slice muted">{meanwhile(run)}; these numbers were not opened while it was stopped.</p>
      ) : lines && areLines && slice && typeof answer !== "string" ? (
        <Lines slice={slice} name={name} />
      ) : (
        <Slice answer={answer} name={name} dark={dark} gone={run.gone} />
      )}
    </div>
  );
}
