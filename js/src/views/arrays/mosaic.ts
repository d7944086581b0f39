/** Arranges pictures in a grid with a gap of one pixel, and finds the element that a pixel shows. */
import type { ArraySlice } from "../../transport/wire";
import type { Picture } from "./colours";

export interface Mosaic {
  picture: Picture;
  /** Returns the full index of the element and its numbers; null between the pictures. */
  at(row: number, column: number): { index: number[]; numbers: number[] } | null;
}

export function mosaicOf(slice: ArraySlice): Mosaic {
  const { axes, tiles, shape } = slice;
  if (!axes || !tiles) return { picture: slice, at: (row, column) => elementOf(slice, row, column) };
  const [count] = tiles;
  const tiled = axes.slice(2).map((axis) => shape[axis] as number);
  const across = acrossOf(count, tiled, slice);
  const [high, wide] = [slice.rows + 1, slice.columns + 1];
  const rows = Math.max(0, Math.ceil(count / across) * high - 1);
  const columns = Math.max(0, Math.min(count, across) * wide - 1);
  const pixels = new (slice.pixels.constructor as Float32ArrayConstructor)(rows * columns);
  const blank = new Uint8Array(rows * columns).fill(1);
  for (let tile = 0; tile < count; tile++) {
    const first = Math.floor(tile / across) * high * columns + (tile % across) * wide;
    for (let row = 0; row < slice.rows; row++) {
      const from = (tile * slice.rows + row) * slice.columns;
      pixels.set(slice.pixels.subarray(from, from + slice.columns), first + row * columns);
      blank.fill(0, first + row * columns, first + row * columns + slice.columns);
    }
  }
  const at = (row: number, column: number) => {
    const tile = Math.floor(row / high) * across + Math.floor(column / wide);
    const [tileRow, tileColumn] = [row % high, column % wide];
    if (tileRow >= slice.rows || tileColumn >= slice.columns || tile >= count) return null;
    const index = indexOf(slice, axes, unravel(tile, tiled), tileRow, tileColumn);
    return { index, numbers: [slice.pixels[(tile * slice.rows + tileRow) * slice.columns + tileColumn] as number] };
  };
  return { picture: { rows, columns, pixels, blank }, at };
}

/**
 * Returns the number of pictures in a row: the size of the second tiled axis, otherwise so that the grid is about
 * square.
 */
function acrossOf(count: number, tiled: readonly number[], { rows, columns }: ArraySlice): number {
  if (tiled.length > 1) return Math.max(1, tiled.at(-1) as number);
  return Math.max(1, Math.min(count, Math.ceil(Math.sqrt((count * (rows + 1)) / (columns + 1)))));
}

function indexOf(
  { shape, index, stride }: ArraySlice,
  axes: readonly number[],
  tile: readonly number[],
  row: number,
  column: number,
): number[] {
  const others = [...index];
  const shown = [row * (stride[0] ?? 1), column * (stride[1] ?? 1), ...tile];
  return shape.map((_, axis) => (axes.includes(axis) ? shown[axes.indexOf(axis)] : others.shift()) ?? 0);
}

function unravel(tile: number, lengths: readonly number[]): number[] {
  const index: number[] = [];
  for (const length of [...lengths].reverse()) {
    index.unshift(tile % length);
    tile = Math.floor(tile / length);
  }
  return index;
}

/** Returns the index of the element in the whole value, and a number for each channel. */
function elementOf(slice: ArraySlice, row: number, column: number): { index: number[]; numbers: number[] } {
  const { shape, index, stride, channels = 1, pixels } = slice;
  const shown = [row * (stride[0] ?? 1), column * (stride[1] ?? 1)];
  const first = (row * slice.columns + column) * channels;
  const numbers = [...pixels.subarray(first, first + channels)];
  return { index: [...index, ...(shape.length === 1 ? shown.slice(1) : shown)], numbers };
}
