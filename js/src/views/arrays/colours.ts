/** Maps numbers to colours: a diverging map if there are both signs, otherwise a sequential one. */
import type { ArraySlice } from "../../transport/wire";

type Rgb = readonly [number, number, number];

export const NAN_COLOUR: Rgb = [255, 0, 200];
export const INF_COLOUR: Rgb = [255, 165, 0];
export const MINUS_INF_COLOUR: Rgb = [0, 200, 200];

/** The colours from low through middle to high. The middle is close to the background, so that zero is inconspicuous. */
const DIVERGING: Readonly<Record<"light" | "dark", readonly Rgb[]>> = {
  light: [
    [5, 48, 97],
    [33, 102, 172],
    [146, 197, 222],
    [247, 247, 247],
    [244, 165, 130],
    [178, 24, 43],
    [103, 0, 31],
  ],
  dark: [
    [166, 214, 255],
    [67, 147, 230],
    [33, 82, 140],
    [23, 27, 32],
    [140, 32, 44],
    [224, 75, 75],
    [255, 190, 175],
  ],
};
const SEQUENTIAL: readonly Rgb[] = [
  [68, 1, 84],
  [70, 50, 127],
  [54, 92, 141],
  [39, 127, 142],
  [31, 161, 135],
  [74, 194, 109],
  [160, 218, 57],
  [253, 231, 37],
];

export interface Scale {
  low: number;
  high: number;
  stops: readonly Rgb[];
}

/** Numbers row by row. If they are colours themselves, there are `channels` numbers for each pixel. */
export type Picture = Pick<ArraySlice, "rows" | "columns" | "pixels"> &
  Partial<Pick<ArraySlice, "channels" | "dtype">> & {
    /** 1 for each pixel that is empty, between tiles. */
    blank?: Uint8Array;
  };

export function scaleOf({ stats }: { stats: Pick<ArraySlice["stats"], "min" | "max"> }, dark: boolean): Scale {
  const [low, high] = [stats.min ?? 0, stats.max ?? 0];
  if (low < 0 && high > 0) {
    const most = Math.max(-low, high);
    return { low: -most, high: most, stops: DIVERGING[dark ? "dark" : "light"] };
  }
  return { low, high, stops: SEQUENTIAL };
}

export function colourOf(y: number, { low, high, stops }: Scale): Rgb {
  if (Number.isNaN(y)) return NAN_COLOUR;
  if (y === Number.POSITIVE_INFINITY) return INF_COLOUR;
  if (y === Number.NEGATIVE_INFINITY) return MINUS_INF_COLOUR;
  const at = high > low ? Math.min(1, Math.max(0, (y - low) / (high - low))) * (stops.length - 1) : 0;
  const i = Math.min(Math.floor(at), stops.length - 2);
  const [from, to] = [stops[i] as Rgb, stops[i + 1] as Rgb];
  const mix = (k: 0 | 1 | 2) => Math.round(from[k] + (to[k] - from[k]) * (at - i));
  return [mix(0), mix(1), mix(2)];
}

export function css(colour: Rgb): string {
  return `rgb(${colour.join()})`;
}

/** Returns the CSS gradient of the scale, from bottom to top. */
export function gradient({ stops }: Scale): string {
  return `linear-gradient(to top,${stops.map(css).join()})`;
}

/** Writes red, green, blue and alpha of each pixel of the slice, row by row. */
export function paint(slice: Picture, scale: Scale, into: Uint8ClampedArray): void {
  const { pixels, channels = 0, blank } = slice;
  // Integers are bytes, other numbers are from 0 to 1.
  const whole = slice.dtype?.includes("int") ? 1 : 255;
  for (let i = 0, at = 0; at < into.length; i++, at += 4) {
    if (blank?.[i]) {
      into[at + 3] = 0;
    } else if (channels > 0) {
      for (let k = 0; k < 3; k++) into[at + k] = whole * (pixels[i * channels + k] as number);
      into[at + 3] = channels === 4 ? whole * (pixels[i * 4 + 3] as number) : 255;
    } else {
      const [red, green, blue] = colourOf(pixels[i] as number, scale);
      into[at] = red;
      into[at + 1] = green;
      into[at + 2] = blue;
      into[at + 3] = 255;
    }
  }
}
