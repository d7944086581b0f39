/** The values of a run that are arrays, and the notation of their types. */
import type { RunStore } from "../../store/run";
import type { SiteMessage } from "../../transport/wire";
import { siteName } from "../sites/name";

export interface ArrayValue {
  /** The key `site/value`. */
  key: string;
  site: SiteMessage;
  value: number;
  name: string;
  shape: readonly number[];
  dtype: string;
}

export function arraysOf(run: RunStore, site: SiteMessage): ArrayValue[] {
  return site.shapes.flatMap((shape, value) => {
    if (shape.length === 0) return [];
    const name = siteName(run, site, site.values[value]);
    return [{ key: `${site.id}/${value}`, site, value, name, shape, dtype: site.dtypes[value] ?? "" }];
  });
}

/** Floats of up to this height or width are a table of numbers, such as eight positions in space, not a picture. */
const LARGEST_TABLE = 8;

/** Returns the type in JAX's notation: `float32[64,128]`. */
export function typeName(dtype: string, shape: readonly number[]): string {
  return `${dtype}[${shape.join()}]`;
}

/**
 * Whether an array of this type can be a picture: its last axes are height, width, and red, green, blue (and alpha).
 * The kernel tells whether the numbers are colours, see `is_picture`.
 */
export function canBeImage(shape: readonly number[], dtype: string): boolean {
  const [height = 0, width = 0, channels = 0] = shape.slice(-3);
  if (shape.length < 3 || (channels !== 3 && channels !== 4)) return false;
  return dtype === "uint8" || (dtype.includes("float") && Math.min(height, width) > LARGEST_TABLE);
}
