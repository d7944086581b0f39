/**
 * Chooses which axes of an array are the rows and columns of its picture, and which are tiled, with a picture for each
 * index.
 */

export interface Plane {
  rows: number;
  columns: number;
  tiled: readonly number[];
}

/** An image has more rows and columns than this. */
const LEAST_SIDE = 8;

export type Slot = "rows" | "columns";

/**
 * Returns the default: the last two axes longer than 1. For a batch of square images, the axes of the squares, with a
 * tile for each channel; so too for one image with three or four channels at its end.
 */
export function usualPlane(shape: readonly number[]): Plane {
  const [, a = 0, b = 0, c = 0] = shape;
  const isBatch = shape.length === 4 && b > 1;
  if (isBatch && a === b && b !== c) return { rows: 1, columns: 2, tiled: c > 1 ? [3] : [] };
  if (isBatch && b === c && a !== b) return { rows: 2, columns: 3, tiled: a > 1 ? [1] : [] };
  const [height = 0, width = 0, channels = 0] = shape;
  const isImage = shape.length === 3 && (channels === 3 || channels === 4) && Math.min(height, width) > LEAST_SIDE;
  if (isImage) return { rows: 0, columns: 1, tiled: [2] };
  const [rows, columns] = shape
    .map((_, axis) => axis)
    .filter((axis) => shape[axis] !== 1)
    .slice(-2);
  if (rows !== undefined && columns !== undefined) return { rows, columns, tiled: [] };
  return { rows: shape.length - 2, columns: shape.length - 1, tiled: [] };
}

/** Returns the axes to request from the kernel; undefined for the last two axes. */
export function axesOf({ rows, columns, tiled }: Plane, shape: readonly number[]): number[] | undefined {
  const isLast = rows === shape.length - 2 && columns === shape.length - 1;
  return shape.length < 2 || (isLast && tiled.length === 0) ? undefined : [rows, columns, ...tiled];
}

/** Returns the axes that are not shown, in order. An index is chosen along each. */
export function hidden({ rows, columns, tiled }: Plane, shape: readonly number[]): number[] {
  return shape.map((_, axis) => axis).filter((axis) => axis !== rows && axis !== columns && !tiled.includes(axis));
}

/** Swaps `axis` with the axis that is in `slot`. */
export function withAxis(plane: Plane, slot: Slot, axis: number): Plane {
  const before = plane[slot];
  const moved = (other: number) => (other === axis ? before : other);
  return {
    rows: moved(plane.rows),
    columns: moved(plane.columns),
    tiled: plane.tiled.map(moved),
    [slot]: axis,
  };
}

/** Returns the possible tilings: none, one of the axes that are neither rows nor columns, or two of them. */
export function tilings({ rows, columns }: Plane, shape: readonly number[]): number[][] {
  const others = shape.map((_, axis) => axis).filter((axis) => axis !== rows && axis !== columns && shape[axis] !== 1);
  const pairs = others.flatMap((first, i) => others.slice(i + 1).map((second) => [first, second]));
  return [[], ...others.map((axis) => [axis]), ...pairs];
}
