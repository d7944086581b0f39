import { expect, it } from "vitest";
import { goldenArray } from "../../../test/golden";
import { colourOf, INF_COLOUR, MINUS_INF_COLOUR, NAN_COLOUR, paint, scaleOf } from "./colours";

const stats = (min: number | null, max: number | null) => ({ stats: { ...goldenArray().stats, min, max } });

it("a colour scale is diverging and symmetric if there are both signs", () => {
  const scale = scaleOf(stats(-1, 3), false);
  expect([scale.low, scale.high]).toEqual([-3, 3]);
  expect(colourOf(0, scale)).toEqual([247, 247, 247]);
  expect(colourOf(0, scaleOf(stats(-1, 3), true))).toEqual([23, 27, 32]);
});

it("a colour scale is sequential otherwise", () => {
  const scale = scaleOf(stats(2, 4), false);
  expect([colourOf(2, scale), colourOf(4, scale)]).toEqual([
    [68, 1, 84],
    [253, 231, 37],
  ]);
  expect(colourOf(99, scale)).toEqual([253, 231, 37]);
  expect(colourOf(2, scaleOf(stats(2, 2), false))).toEqual([68, 1, 84]);
});

it("a colour scale has separate colours for values that are not finite", () => {
  const slice = goldenArray();
  const into = new Uint8ClampedArray(4 * slice.rows * slice.columns);
  paint(slice, scaleOf(slice, false), into);
  expect([...into.slice(0, 4)]).toEqual([...NAN_COLOUR, 255]);
  expect([...into.slice(16, 20)]).toEqual([...INF_COLOUR, 255]);
  expect([...into.slice(44)]).toEqual([...MINUS_INF_COLOUR, 255]);
});

it("the channels of a picture are used unchanged", () => {
  const slice = goldenArray("image");
  const into = new Uint8ClampedArray(4 * 6);
  paint(slice, scaleOf(slice, false), into);
  expect([...into.slice(0, 4)]).toEqual([0, 15, 30, 255]);
  expect([...into.slice(20)]).toEqual([225, 240, 255, 255]);
});
