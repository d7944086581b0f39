/** Selects which two axes of an array are shown as its picture, which are tiled, and the index along the others. */
import { useState } from "preact/hooks";
import { axesOf, hidden, type Plane, type Slot, tilings, usualPlane, withAxis } from "./plane";
import { inRange, Slider } from "./Slider";

export interface Shown {
  index: number[];
  axes?: number[];
}

/**
 * Returns what to request from the kernel, and the properties of the selection. With `isImage`, the last three axes are
 * a picture in colours.
 */
export function usePlane(shape: readonly number[], isImage: boolean): [Shown, PlaneProps] {
  const [index, setIndex] = useState<readonly number[]>([]);
  const [chosen, setChosen] = useState<{ rank: number; plane: Plane } | null>(null);
  const rank = shape.length;
  const plane = chosen?.rank === rank ? chosen.plane : usualPlane(shape);
  const axes = isImage ? undefined : axesOf(plane, shape);
  const free = isImage ? shape.map((_, axis) => axis).slice(0, -3) : hidden(plane, shape);
  const place = inRange(
    free.map((axis) => index[axis] ?? 0),
    free.map((axis) => shape[axis] as number),
  );
  const props = {
    shape,
    plane: isImage ? null : plane,
    free,
    index: place,
    setIndex: (axis: number, at: number) => setIndex(shape.map((_, i) => (i === axis ? at : (index[i] ?? 0)))),
    setPlane: (next: Plane) => setChosen({ rank, plane: next }),
  };
  return [{ index: place, ...(axes && { axes }) }, props];
}

interface PlaneProps {
  shape: readonly number[];
  /** Null if the array is shown as a picture in colours, which has fixed axes. */
  plane: Plane | null;
  /** The axes that are not shown, and the index along each. */
  free: readonly number[];
  index: readonly number[];
  setIndex: (axis: number, at: number) => void;
  setPlane: (plane: Plane) => void;
}

export function PlaneChoice({ shape, plane, free, index, setIndex, setPlane }: PlaneProps) {
  return (
    <>
      {plane && shape.length > 2 && <AxisChoices shape={shape} plane={plane} setPlane={setPlane} />}
      {free.map(
        (axis, i) =>
          shape[axis] !== 1 && (
            <Slider
              key={axis}
              name={`axis ${axis}`}
              value={index[i] ?? 0}
              most={(shape[axis] ?? 1) - 1}
              text={`${index[i]} of ${shape[axis]}`}
              set={(at) => setIndex(axis, at)}
            />
          ),
      )}
    </>
  );
}

function AxisChoices({
  shape,
  plane,
  setPlane,
}: { shape: readonly number[]; plane: Plane } & Pick<PlaneProps, "setPlane">) {
  const words = (axis: number) => `${axis} · ${shape[axis]}`;
  const key = plane.tiled.join();
  return (
    <span class="plane-axes">
      {(["rows", "columns"] as Slot[]).map((slot) => (
        <label key={slot}>
          <span class="muted">{slot}</span>
          <select
            data-testid={`axis-${slot}`}
            title={`Which axis is the ${slot} of the picture`}
            value={plane[slot]}
            onChange={(event) => setPlane(withAxis(plane, slot, Number(event.currentTarget.value)))}
          >
            {shape.map((_, axis) => (
              <option key={axis} value={axis}>
                {words(axis)}
              </option>
            ))}
          </select>
        </label>
      ))}
      <label>
        <span class="muted">tiles</span>
        <select
          data-testid="axis-tiles"
          title="Draw one picture for each index of this axis, side by side"
          value={key}
          onChange={(event) =>
            setPlane({ ...plane, tiled: event.currentTarget.value.split(",").filter(Boolean).map(Number) })
          }
        >
          {tilings(plane, shape).map((tiled) => (
            <option key={tiled.join()} value={tiled.join()}>
              {tiled.length === 0 ? "none" : tiled.map(words).join(" × ")}
            </option>
          ))}
        </select>
      </label>
    </span>
  );
}
