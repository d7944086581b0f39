import { describe, expect, it } from "vitest";
import { goldenArray } from "../../../test/golden";
import { mosaicOf } from "./mosaic";
import { axesOf, hidden, tilings, usualPlane, withAxis } from "./plane";

describe("the axes of a picture", () => {
  it.each([
    ["the last two", [2, 4, 6], undefined, [0]],
    ["of a vector none", [5], undefined, []],
    ["a tile for each channel, where these stand last", [32, 28, 28, 16], [1, 2, 3], [0]],
    ["a tile for each channel, where these stand second", [32, 16, 28, 28], [2, 3, 1], [0]],
    ["of attention, heads with as many queries as keys", [2, 8, 64, 64], [2, 3, 1], [0]],
    ["a tile for each colour of an image", [28, 28, 3], [0, 1, 2], []],
    ["the last two of a small table", [4, 5, 3], undefined, [0]],
    ["the last two that are longer than 1", [5, 64, 1], [0, 1], [2]],
    ["of one that is, the last two", [1, 64, 1], undefined, [0]],
    ["of four axes that tell nothing, the last two", [4, 5, 6, 7], undefined, [0, 1]],
  ] as const)("are %s: %s", (_, shape, axes, free) => {
    const plane = usualPlane(shape);
    expect(axesOf(plane, shape)).toEqual(axes);
    expect(hidden(plane, shape).filter((axis) => axis >= 0)).toEqual(shape.length < 2 ? [] : free);
  });

  it("can be exchanged", () => {
    const plane = { rows: 1, columns: 2, tiled: [3] };
    expect(withAxis(plane, "rows", 2)).toEqual({ rows: 2, columns: 1, tiled: [3] });
    expect(withAxis(plane, "columns", 3)).toEqual({ rows: 1, columns: 3, tiled: [2] });
    expect(withAxis(plane, "rows", 0)).toEqual({ rows: 0, columns: 2, tiled: [3] });
    expect(tilings(plane, [4, 8, 8, 3])).toEqual([[], [0], [3], [0, 3]]);
    expect(tilings(plane, [1, 8, 8, 3])).toEqual([[], [3]]);
  });
});

describe("tiles", () => {
  /**
   * Three pictures of 2x2 numbers along axis 1 of an array [2, 3, 2, 4], at index 1 of axis 0, with every second
   * column.
   */
  const slice = goldenArray("array", {
    shape: [2, 3, 2, 4],
    axes: [2, 3, 1],
    tiles: [3, 3],
    index: [1],
    rows: 2,
    columns: 2,
    stride: [1, 2],
    pixels: Float32Array.from({ length: 12 }, (_, i) => i),
  });

  it("are beside each other with a gap, and have their full index", () => {
    const { picture, at } = mosaicOf(slice);
    expect([picture.rows, picture.columns]).toEqual([5, 5]);
    expect(at(0, 0)).toEqual({ index: [1, 0, 0, 0], numbers: [0] });
    expect(at(1, 4)).toEqual({ index: [1, 1, 1, 2], numbers: [7] });
    expect(at(3, 1)).toEqual({ index: [1, 2, 0, 2], numbers: [9] });
    expect([at(2, 0), at(0, 2), at(3, 3)]).toEqual([null, null, null]);
    expect([...(picture.blank ?? [])].filter(Boolean)).toHaveLength(25 - 12);
    expect(picture.pixels[3 * 5 + 1]).toBe(9);
  });

  it("of two axes form a table with a row for each index of the first", () => {
    const grid = {
      ...slice,
      shape: [2, 2, 3, 2],
      axes: [2, 3, 0, 1],
      tiles: [4, 4],
      index: [] as number[],
      columns: 1,
    };
    const { picture, at } = mosaicOf({ ...grid, tiles: [4, 4], pixels: Float32Array.from({ length: 8 }, (_, i) => i) });
    expect([picture.rows, picture.columns]).toEqual([5, 3]);
    expect(at(3, 2)?.index.slice(0, 2)).toEqual([1, 1]);
  });
});
