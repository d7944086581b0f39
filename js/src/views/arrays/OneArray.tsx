/** An array of an event: a selection of its axes, the picture, its numbers, the array as a file. */
import type { RunStore } from "../../store/run";
import { Full } from "./Full";
import { PictureSwitch } from "./PictureSwitch";
import { PlaneChoice, usePlane } from "./PlaneChoice";
import { usePicture } from "./picture";
import { Slice } from "./Slice";

interface Props {
  run: RunStore;
  event: number;
  /** The index of the value in the event. */
  value: number;
  shape: readonly number[];
  dtype: string;
  name: string;
  dark: boolean;
}

export function OneArray({ run, event, value, shape, dtype, name, dark }: Props) {
  run.watch();
  const [picture, useAnswer] = usePicture(shape, dtype);
  const [plane, planeProps] = usePlane(shape, picture.is);
  const wanted = { event, value, ...plane, image: picture.is };
  const answer = run.arrays.get(wanted);
  useAnswer(answer);
  return (
    <>
      {(shape.length > 2 || picture.mayBe) && (
        <div class="axes">
          <PlaneChoice {...planeProps} />
          <PictureSwitch picture={picture} />
        </div>
      )}
      <Slice answer={answer} name={name} dark={dark} gone={run.gone}>
        <Full run={run} wanted={wanted} name={name} />
      </Slice>
    </>
  );
}
