/** An array of the frame, slice by slice: a line for each row where they are few, else a picture. */
import { useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { StopBody } from "../../transport/stops";
import { Lines, mayBeLines } from "../arrays/Lines";
import { usePicture } from "../arrays/picture";
import { Slice, useLast } from "../arrays/Slice";
import { Axes, inRange } from "../arrays/Slider";

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
  const [index, setIndex] = useState<readonly number[]>([]);
  const [picture, useAnswer] = usePicture(shape, dtype);
  const [lines, setLines] = useState(true);
  const { locals } = run.debugger;
  const leading = shape.slice(0, picture.is ? -3 : -2);
  const at = inRange(index, leading);
  const wanted = { stop: stop.id, frame: stop.frame, name, index: at, image: picture.is };
  const answer = stands ? locals.get(wanted) : locals.known(wanted);
  useAnswer(answer);
  const slice = useLast(answer);
  return (
    <div data-testid="local-array">
      <Axes lengths={leading} index={at} set={setIndex} />
      {picture.mayBe && (
        <button type="button" class="mini" aria-pressed={picture.is} onClick={picture.toggle}>
          image
        </button>
      )}
      {mayBeLines(shape) && (
        <button type="button" class="mini" aria-pressed={lines} onClick={() => setLines(!lines)}>
          plot
        </button>
      )}
      {!stands && answer === undefined ? (
        <p class="slice muted">The program has gone on; nobody has looked at these numbers while it stood.</p>
      ) : lines && mayBeLines(shape) && slice && typeof answer !== "string" ? (
        <Lines slice={slice} name={name} />
      ) : (
        <Slice answer={answer} name={name} dark={dark} gone={run.gone} />
      )}
    </div>
  );
}
