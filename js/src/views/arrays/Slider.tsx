/** A slider for the index along an axis of an array. */

interface SliderProps {
  name: string;
  value: number;
  most: number;
  text: string;
  set: (value: number) => void;
}

export function Slider({ name, value, most, text, set }: SliderProps) {
  return (
    <label class="slider">
      <span class="muted">{name}</span>
      <input
        type="range"
        min={0}
        max={Math.max(0, most)}
        value={value}
        aria-valuetext={text}
        title={`Which ${name}`}
        onInput={(event) => set(event.currentTarget.valueAsNumber)}
      />
      <span class="number">{text}</span>
    </label>
  );
}

/** Limits `index` to axes of these lengths; missing entries are 0. */
export function inRange(index: readonly number[], lengths: readonly number[]): number[] {
  return lengths.map((length, axis) => Math.min(index[axis] ?? 0, length - 1));
}
