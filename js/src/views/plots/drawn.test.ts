import { describe, expect, it } from "vitest";
import { TestRun } from "../../../test/fakes";
import { goldenBatch } from "../../../test/golden";
import type { Series } from "../../store/series";
import { NO_LOOPS } from "../../store/steps";
import { drawnOf, extentOf, type Look, lineCount, readingAt, smoothed } from "./drawn";
import { frameOf, paint, paintHeading } from "./paint";
import { SvgPen } from "./svg";
import { stepped } from "./zoom";

const PLAIN: Look = { logarithmic: false, axis: "step", smoothing: 0, during: null, zoom: null, moment: null };

function series(name: string, site: number): Series {
  const run = new TestRun();
  run.store.apply(goldenBatch(name));
  const found = run.store.series.ofSite(site);
  if (!found) throw new Error(`no series of site ${site}`);
  return found;
}

/** Returns the series of a site that fired `steps` times in each of `count` lanes. */
function lanes(count: number, steps: number): Series {
  const found = series("lanes", 1);
  found.elements.clear();
  const { events } = goldenBatch("lanes");
  for (let step = 0; step < steps; step++) {
    for (let lane = 0; lane < count; lane++) {
      for (const [name, value] of Object.entries({ lane, time: step, occurrence: step })) {
        (events[name as "lane" | "time" | "occurrence"][0] as number) = value;
      }
      found.push({ events }, 0, 0, lane + step, NO_LOOPS);
    }
  }
  return found;
}

describe("a chart", () => {
  it("is a line, with marks where values are not finite", () => {
    const drawn = drawnOf([series("nonfinite", 3)], PLAIN);
    expect(drawn.curves).toMatchObject([{ line: 0, x: [0, 4, 5], y: [1, 5e-324, -0], smooth: null, band: null }]);
    expect(drawn.marks.map(({ x, y }) => [x, y])).toEqual([
      [1, Number.NaN],
      [2, Number.POSITIVE_INFINITY],
      [3, Number.NEGATIVE_INFINITY],
    ]);
    expect([drawn.from, drawn.to]).toEqual([0, 5]);
  });

  it("leaves out values without a logarithm", () => {
    expect(drawnOf([series("nonfinite", 3)], { ...PLAIN, logarithmic: true }).curves[0]?.x).toEqual([0, 4]);
  });

  it("has a curve for each of few lanes", () => {
    const drawn = drawnOf([series("lanes", 1)], PLAIN);
    expect(drawn.curves.map(({ x, y }) => [x, y])).toEqual([
      [
        [0, 1],
        [0, 1.5],
      ],
      [
        [0, 1],
        [0.5, 2],
      ],
      [
        [0, 1],
        [1, 2.5],
      ],
    ]);
    expect(readingAt(drawn, 0.9)).toEqual({
      x: 1,
      time: null,
      values: [
        { line: 0, ago: 0, low: 1.5, high: 1.5 },
        { line: 1, ago: 0, low: 2, high: 2 },
        { line: 2, ago: 0, low: 2.5, high: 2.5 },
      ],
    });
  });

  it("is a band with the mean of many lanes", () => {
    const drawn = drawnOf([lanes(5, 3)], PLAIN);
    expect(drawn.curves).toMatchObject([
      { x: [0, 1, 2], y: [2, 3, 4], band: { low: [0, 1, 2], high: [4, 5, 6] }, time: [0, 1, 2] },
    ]);
    expect(lineCount([lanes(5, 3), series("lanes", 1)])).toBe(4);
    expect(readingAt(drawn, 1)).toEqual({ x: 1, time: 1, values: [{ line: 0, ago: 0, low: 1, high: 5 }] });
    expect(drawnOf([lanes(5, 4000)], PLAIN).curves[0]?.x.length).toBeLessThanOrEqual(2000);
  });

  it("has at most 2000 points of the visible part", () => {
    const whole = drawnOf([series("large", 1)], PLAIN);
    expect(whole.curves[0]?.x.length).toBeLessThanOrEqual(2000);
    expect([whole.from, whole.to]).toEqual([0, 4999]);
    const part = drawnOf([series("large", 1)], { ...PLAIN, zoom: [100, 110] });
    expect(part.curves[0]?.x).toEqual([99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110]);
    expect([part.from, part.to]).toEqual([100, 110]);
  });

  it("can be drawn by time, for one call and at one moment", () => {
    const loss = series("small", 1);
    expect(drawnOf([loss], { ...PLAIN, axis: "seconds" }).curves[0]?.x).toEqual([1.61, 1.7, 1.8]);
    expect(drawnOf([loss], { ...PLAIN, during: { from: 1.65, to: 1.75 } }).curves[0]?.x).toEqual([1]);
    expect(drawnOf([loss], { ...PLAIN, moment: 1.75 }).at).toBe(1);
    expect(drawnOf([loss], { ...PLAIN, moment: 1.75, axis: "seconds" }).at).toBe(1.75);
    expect(drawnOf([loss], { ...PLAIN, moment: 0 }).at).toBeNull();
  });

  it("can be drawn by call: values of one call are evenly spaced", () => {
    const loss = series("small", 1);
    const { curves, from, to } = drawnOf([loss], { ...PLAIN, axis: "call" });
    expect(curves[0]?.x).toEqual([1, 1 + 1 / 3, 1 + 2 / 3]);
    expect([from, to]).toEqual([1, 1 + 2 / 3]);
    expect(drawnOf([loss], { ...PLAIN, axis: "call", moment: 1.75 }).at).toBe(1 + 1 / 3);
    expect(drawnOf([loss], { ...PLAIN, axis: "call", zoom: [1.5, 2] }).curves[0]?.x).toEqual([1 + 1 / 3, 1 + 2 / 3]);
  });

  it("shows several series at the step that the newest has reached, also if that value was not finite", () => {
    const odd = series("nonfinite", 3);
    expect(drawnOf([odd], { ...PLAIN, moment: 0.8 }).at).toBe(3);
    // The first number came only after the moment.
    expect(drawnOf([series("small", 1), odd], { ...PLAIN, moment: 0.8 }).at).toBe(3);
  });

  it("can be smoothed, and shows the original line too", () => {
    const [curve] = drawnOf([series("small", 1)], { ...PLAIN, smoothing: 0.5 }).curves;
    expect(curve?.y).toEqual([2.5, 1.25, 0.625]);
    expect(curve?.smooth?.[0]).toBe(2.5);
    expect(curve?.smooth?.[1]).toBeCloseTo(5 / 3);
    expect([...smoothed(Float64Array.of(3, 3, 3), 0.9)].every((y) => Math.abs(y - 3) < 1e-12)).toBe(true);
  });

  it("can show several series, each with its own curves", () => {
    const drawn = drawnOf([series("small", 1), series("lanes", 1)], PLAIN);
    expect(drawn.curves.map(({ line }) => line)).toEqual([0, 1, 2, 3]);
    expect([drawn.from, drawn.to]).toEqual([0, 2]);
  });

  it("shows the time of a value", () => {
    const drawn = drawnOf([series("small", 1)], PLAIN);
    expect(readingAt(drawn, 1.2)).toEqual({ x: 1, time: 1.7, values: [{ line: 0, ago: 0, low: 1.25, high: 1.25 }] });
    expect(readingAt(drawnOf([series("small", 1)], { ...PLAIN, during: { from: 9, to: 9 } }), 1)).toBeNull();
  });
});

it("a chart is zoomed and moved by keys", () => {
  expect(stepped("+", null, [0, 100])).toEqual([20, 80]);
  expect(stepped("ArrowRight", null, [0, 100])).toBe(false);
  expect(stepped("ArrowRight", [20, 80], [20, 80])).toEqual([32, 92]);
  expect(stepped("0", [20, 80], [20, 80])).toBeNull();
  expect(stepped("x", null, [0, 100])).toBe(false);
});

it("a chart draws earlier runs behind, each in its own colour, and shows their values", () => {
  const drawn = drawnOf([series("small", 1)], PLAIN, [[series("large", 1), undefined, series("lanes", 1)]]);
  expect(drawn.curves.map(({ line, ago }) => [line, ago])).toEqual([
    [3, 3],
    [1, 1],
    [0, 0],
  ]);
  expect([drawn.from, drawn.to]).toEqual([0, 4999]);
  const reading = readingAt(drawn, 4000);
  expect(reading).toMatchObject({
    x: 2,
    values: [
      { ago: 0, low: 0.625 },
      { line: 1, ago: 1 },
    ],
  });
});

it("the values of many lines, or of the lines of an earlier run, are one entry", () => {
  const lanes = series("lanes", 1);
  const drawn = drawnOf([lanes], PLAIN, [[lanes]]);
  expect(readingAt(drawn, 1)?.values).toHaveLength(drawn.curves.length / 2 + 1);
  const many = drawnOf([lanes, lanes], PLAIN);
  expect(readingAt(many, 1)?.values).toHaveLength(many.curves.length > 4 ? 1 : many.curves.length);
});

it("a chart is exported as SVG by the same drawing code", () => {
  const pen = new SvgPen(300, 100);
  const drawn = drawnOf([series("nonfinite", 3), series("lanes", 2)], PLAIN);
  const colours = { lines: ["red", "blue"], text: "black", grid: "grey", mark: "orange", moment: "green" };
  paint(pen, frameOf({ clientWidth: 300, clientHeight: 100 }), drawn, PLAIN, colours, { hover: null, dragFrom: null });
  const frame = frameOf({ clientWidth: 300, clientHeight: 100 });
  const white = "color(srgb 1 1 1 / 0.5)";
  const below = paintHeading(pen, frame, [["a < b", "red"]], white, (text) => 6 * text.length);
  const root = new DOMParser().parseFromString(pen.text(), "image/svg+xml").documentElement;
  expect(root.querySelector("parsererror")).toBeNull();
  const strokes = [...root.querySelectorAll("path")].map((path) => path.getAttribute("stroke"));
  expect([strokes.filter((s) => s === "red").length, strokes.filter((s) => s === "orange").length]).toEqual([1, 1]);
  expect([...root.querySelectorAll("path")].filter((path) => path.getAttribute("fill") === "orange")).toHaveLength(2);
  expect([...root.querySelectorAll("text")].map((text) => text.textContent)).toEqual(
    expect.arrayContaining(["4", "a < b"]),
  );
  expect(below.top).toBeGreaterThan(frame.top);
  expect(root.querySelector("[fill='rgb(255,255,255)'][fill-opacity='0.5']")).not.toBeNull();
});

it("the axes of a single step name that step, and long numbers are narrowed to their room", () => {
  const pen = new SvgPen(300, 100);
  const line = drawnOf([series("nonfinite", 3)], PLAIN);
  const single = { ...line.curves[0], x: [7], y: [1.05e16], time: [0], smooth: null, band: null };
  const drawn = { ...line, ...drawnOf([], PLAIN), curves: [single], marks: [] } as typeof line;
  [drawn.from, drawn.to] = extentOf(drawn.curves, []);
  const colours = { lines: ["red"], text: "black", grid: "grey", mark: "orange", moment: "green" };
  paint(pen, frameOf({ clientWidth: 300, clientHeight: 100 }), drawn, PLAIN, colours, { hover: null, dragFrom: null });
  const root = new DOMParser().parseFromString(pen.text(), "image/svg+xml").documentElement;
  const written = [...root.querySelectorAll("text")];
  expect(written.map((text) => text.textContent).slice(-2)).toEqual(["7", "step 7"]);
  const [narrowed] = written.filter((text) => text.textContent?.includes("e16"));
  expect(Number(narrowed?.getAttribute("textLength"))).toBeLessThanOrEqual(38);
});
