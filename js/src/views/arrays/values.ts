/** The values of a run that are arrays, and how they are written. */
import type { RunStore } from "../../store/run";
import type { SiteMessage } from "../../transport/wire";
import { siteName } from "../sites/name";

export interface ArrayValue {
  /** `site/value`. */
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

export function allArrays(run: RunStore): ArrayValue[] {
  return [...run.sites.values()].flatMap((site) => arraysOf(run, site));
}

/** As JAX writes it: `float32[64,128]`. */
export function typeName(dtype: string, shape: readonly number[]): string {
  return `${dtype}[${shape.join()}]`;
}

/** Height, width, and red, green, blue (and alpha). */
export function canBeImage(shape: readonly number[]): boolean {
  const channels = shape.at(-1);
  return shape.length >= 3 && (channels === 3 || channels === 4);
}
