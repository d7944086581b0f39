/** An array of the frame, slice by slice: a line for each row where they are few, else a picture. */
import { useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { StopBody } from "../../transport/stops";
import { Lines, mayBeLines } from "../arrays/Lines";
import { Slice, useLast } from "../arrays/Slice";
import { Axes, inRange } from "../arrays/Slider";
import { canBeImage } from "../arrays/values";

interface Props {
  run: RunStore;
  stop: StopBody;
  stands: boolean;
  name: string;
  shape: readonly number[];
  dark: boolean;
}

export function LocalArray({ run, stop, stands, name, shape, dark }: Props) {
  run.watch();
  const [index, setIndex] = useState<readonly number[]>([]);
  const [image, setImage] = useState(canBeImage(shape));
  const [lines, setLines] = useState(true);
  const { locals } = run.debugger;
  const leading = shape.slice(0, image ? -3 : -2);
  const at = inRange(index, leading);
  const answer = stands ? locals.get({ stop: stop.id, frame: stop.frame, name, index: at, image }) : undefined;
  const slice = useLast(answer);
  return (
    <div data-testid="local-array">
      <Axes lengths={leading} index={at} set={setIndex} />
      {canBeImage(shape) && (
        <button type="button" class="mini" aria-pressed={image} onClick={() => setImage(!image)}>
          image
        </button>
      )}
      {mayBeLines(shape) && (
        <button type="button" class="mini" aria-pressed={lines} onClick={() => setLines(!lines)}>
          plot
        </button>
      )}
      {lines && mayBeLines(shape) && slice && typeof answer !== "string" ? (
        <Lines slice={slice} name={name} />
      ) : (
        <Slice answer={answer} name={name} dark={dark} gone={run.gone} />
      )}
    </div>
  );
}
