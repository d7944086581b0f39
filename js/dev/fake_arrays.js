// The arrays of the fake run: waves with some values that are not finite, and a picture.
import { pack } from "./pack.js";

export const SHAPES = { x: [4, 64, 128], picture: [48, 64, 3] };
const ALL = { ...SHAPES, vector: [1, 1, 64] };
const BINS = 40;

const wave = (t, plane, row, column) => {
  if ((row * 7 + column * 3 + t) % 997 === 3) return Number.NaN;
  if ((row * 5 + column + t) % 1201 === 5) return row % 2 ? Infinity : -Infinity;
  return Math.sin(column / 9 + t / 8 + plane) * Math.cos(row / 11 - plane) + 0.15 * Math.sin(row * column);
};
const colour = (t, row, column, channel) =>
  0.5 + 0.5 * Math.sin(column / 10 + row / (6 + channel * 4) + t / 9 + channel * 2);

export function answerArray({ label }, t, { id, event, value, index, image, axes }) {
  const shape = ALL[label];
  const isImage = shape.length === 3 && shape[2] === 3;
  const [rows, columns, channels] = isImage && image ? shape : [...shape.slice(-2), 1];
  const plane = index[0] ?? 0;
  const whole = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => {
    const [a, b, c] = [Math.floor(i / (shape[1] * shape[2])), Math.floor(i / shape[2]) % shape[1], i % shape[2]];
    return isImage ? colour(t, a, b, c) : wave(t, a, b, c);
  });
  if (axes) return tiled(shape, whole, { id, event, value, name: label }, axes, index);
  const size = rows * columns * channels;
  const data = isImage && image ? whole : whole.slice(plane * size, (plane + 1) * size);
  const { columns: specs, buffer, stats } = packed(data, whole);
  const header = { type: "array", id, event, value, name: label, dtype: "float32", shape, index, rows, columns };
  const extra = isImage && image ? { channels } : {};
  return { content: { ...header, ...extra, stride: [1, 1], stats, data: specs }, buffer };
}

/** Returns pictures over the first two of `axes`, one for each index along the others. */
function tiled(shape, whole, header, [rowAxis, columnAxis, ...tiles], index) {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
  const others = shape.map((_, axis) => axis).filter((axis) => ![rowAxis, columnAxis, ...tiles].includes(axis));
  const first = others.reduce((sum, axis, i) => sum + index[i] * strides[axis], 0);
  const order = [...tiles, rowAxis, columnAxis];
  let places = [first];
  for (const axis of order)
    places = places.flatMap((place) => Array.from({ length: shape[axis] }, (_, i) => place + i * strides[axis]));
  const [rows, columns] = [shape[rowAxis], shape[columnAxis]];
  const count = tiles.reduce((product, axis) => product * shape[axis], 1);
  const {
    columns: specs,
    buffer,
    stats,
  } = packed(
    Float32Array.from(places, (place) => whole[place]),
    whole,
  );
  const about = { type: "array", ...header, dtype: "float32", shape, index, rows, columns, stride: [1, 1] };
  return {
    content: { ...about, stats, data: specs, axes: [rowAxis, columnAxis, ...tiles], tiles: [count, count] },
    buffer,
  };
}

function packed(data, whole) {
  const finite = whole.filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b));
  const high = finite.reduce((a, b) => Math.max(a, b));
  const histogram = new Uint32Array(BINS);
  for (const y of finite) histogram[Math.min(BINS - 1, Math.floor((BINS * (y - low)) / (high - low)))]++;
  const mean = finite.reduce((a, b) => a + b) / finite.length;
  const std = Math.sqrt(finite.reduce((sum, y) => sum + (y - mean) ** 2, 0) / finite.length);
  const nan = whole.filter(Number.isNaN).length;
  const stats = {
    size: whole.length,
    nan,
    inf: whole.length - finite.length - nan,
    zero: 0,
    min: low,
    max: high,
    mean,
    std,
  };
  return { ...pack({ data, histogram }), stats };
}
