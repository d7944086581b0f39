import { expect, it } from "vitest";
import { Band } from "./band";
import { decimate } from "./decimate";
import { Line, Series } from "./series";
import { firingOf, Loops, stepsOf } from "./steps";

it("thinning keeps minima and maxima", () => {
  const y = Float64Array.from({ length: 10_000 }, (_, i) => (i === 1234 ? 9 : i === 4321 ? -9 : Math.sin(i)));
  const drawn = decimate(y, 200);
  expect(drawn.length).toBeLessThanOrEqual(200);
  expect(drawn).toContain(1234);
  expect(drawn).toContain(4321);
  expect([...drawn].sort((a, b) => a - b)).toEqual(drawn);
});

it("thinning keeps all of few points, except excluded ones", () => {
  expect(decimate(Float64Array.of(3, -1, 2), 2000)).toEqual([0, 1, 2]);
  expect(decimate(Float64Array.of(3, -1, 2), 2000, (y) => y > 0)).toEqual([0, 2]);
});

it("thinning keeps the ends", () => {
  const y = Float64Array.from({ length: 10_000 }, (_, i) => Math.sin(i));
  const drawn = decimate(y, 200, (value) => value > -0.5);
  expect([drawn.at(0), drawn.at(-1)]).toEqual([0, [...y.keys()].filter((i) => (y[i] as number) > -0.5).at(-1)]);
});

it("a line that has grown too long is thinned", () => {
  const line = new Line();
  for (let i = 0; i < 200_000; i++) line.push(i, i / 10, i === 777 ? 1e6 : i % 5, 1);
  expect(line.total).toBe(200_000);
  expect(line.y.length).toBeLessThan(140_000);
  expect(Math.max(...line.y.view().slice(0, 1000))).toBe(1e6);
  expect(line.x.at(-1)).toBe(199_999);
});

it("a band that has grown too long still ends at its last position", () => {
  const band = new Band();
  for (let i = 0; i < 32_768; i++) band.push(i, i / 10, i % 5, 1);
  expect(band.x.length).toBeLessThan(20_000);
  expect([band.x.at(-1), band.y.at(-1)]).toEqual([32_767, 2]);
  band.push(32_768, 3276.8, 7, 1);
  expect([band.x.at(-1), band.y.at(-1)]).toEqual([32_768, 7]);
});

const backwards = { loops: [3], reverse: [true] };

function pushed(
  steps: number[],
  calls: number[],
  about: { loops: (number | null)[]; reverse: boolean[]; leap?: number },
  inner = steps.map(() => -1),
  execution = inner.map(() => -1),
): Series {
  const series = new Series(1, 0);
  const lane = new Int32Array(steps.length).fill(-1);
  const time = Float64Array.from(steps, (_, i) => i);
  const events = { step: steps, call: calls, inner, execution, lane, device: lane, time, occurrence: time } as never;
  for (const i of steps.keys()) series.push({ events }, i, 0, 10 * i, new Loops({ leap: 1, ...about }));
  return series;
}

it("a reversed loop is drawn at its true steps, which continue from call to call", () => {
  const { first } = pushed([2, 1, 0, 2, 1, 0], [0, 0, 0, 1, 1, 1], backwards);
  expect([...(first as Line).x.view()]).toEqual([0, 1, 2, 3, 4, 5]);
  expect([...(first as Line).y.view()]).toEqual([20, 10, 0, 50, 40, 30]);
  expect(first?.risesInTime).toBe(false);
});

it("steps include those that a call leaves out at its end", () => {
  const { first } = pushed([0, 3, 6, 0, 3, 6], [0, 0, 0, 1, 1, 1], { loops: [8], reverse: [false], leap: 3 });
  expect([...(first as Line).x.view()]).toEqual([0, 3, 6, 8, 11, 14]);
  const shorter = pushed([0, 1, 0], [0, 0, 1], { loops: [8], reverse: [false], leap: 3 });
  expect([...(shorter.first as Line).x.view()]).toEqual([0, 1, 2]);
});

it("values outside loops are drawn at their execution, with gaps for calls without events", () => {
  const outside = pushed([-1, -1, -1], [6, 7, 9], { loops: [], reverse: [] }, [-1, -1, -1], [6, 7, 9]);
  expect([...(outside.first as Line).x.view()]).toEqual([6, 7, 9]);
  const scan = { loops: [4], reverse: [false], leap: 4 };
  const inside = pushed([2, 3, 1], [4, 4, 9], scan, [-1, -1, -1], [1, 1, 3]);
  expect([...(inside.first as Line).x.view()]).toEqual([6, 7, 13]);
  const whileLoop = pushed([2, 3, 1], [4, 4, 9], { loops: [null], reverse: [] }, [-1, -1, -1], [1, 1, 3]);
  expect([...(whileLoop.first as Line).x.view()]).toEqual([2, 3, 5]);
});

it("iterations of a while are drawn between two steps", () => {
  const { first } = pushed(
    [0, 0, 0, 1, 2, 2, 0],
    [0, 0, 0, 0, 0, 0, 1],
    { loops: [3, null], reverse: [] },
    [0, 1, 3, 0, 0, 1, 0],
  );
  expect([...(first as Line).x.view()]).toEqual([0, 0.5, 0.75, 1, 2, 2.5, 3]);
  const loopInIt = { loops: [2, null, 2], reverse: [false, false, true] };
  const inside = pushed([0, 0, 0, 0, 1], [0, 0, 0, 0, 0], loopInIt, [1, 0, 3, 2, 1]);
  expect([...(inside.first as Line).settled().x.view()]).toEqual([0, 1 / 3, 1 / 2, 3 / 5, 1 + 1 / 3]);
});

it("the last value on the axis and the newest value are distinguished", () => {
  const series = pushed([2, 1, 0], [0, 0, 0], backwards);
  expect([series.last, series.newest]).toEqual([0, 20]);
  const forwards = pushed([0, 1, 2], [0, 0, 0], { loops: [3], reverse: [] });
  expect([forwards.last, forwards.newest]).toEqual([20, 20]);
});

it("steps continue if one call runs a loop again, in either direction", () => {
  const { first } = pushed([1, 0, 1, 0], [0, 0, 0, 0], { loops: [2], reverse: [true] });
  expect([...(first as Line).y.view()]).toEqual([10, 0, 30, 20]);
  const inside = pushed([0, 0, 1, 1], [0, 0, 0, 0], { loops: [2, 2], reverse: [false, true] }, [1, 0, 1, 0]);
  expect([...(inside.first as Line).x.view()]).toEqual([0, 0.5, 1, 1.5]);
  expect([...(inside.first as Line).y.view()]).toEqual([10, 0, 30, 20]);
  const forward = pushed([0, 1, 0, 1], [0, 0, 0, 0], { loops: [2], reverse: [] });
  expect([...(forward.first as Line).x.view()]).toEqual([0, 1, 2, 3]);
});

it("a band can have steps in descending order", () => {
  const band = new Band();
  for (const strand of [1, 2]) for (const x of [2, 1, 0]) band.push(x, strand, strand * 10 + x, 1);
  expect([...band.x.view()]).toEqual([0, 1, 2]);
  expect([...band.low.view()]).toEqual([10, 11, 12]);
  expect([...band.high.view()]).toEqual([20, 21, 22]);
});

it("a point has the iterations of a while and of the loop in it", () => {
  const log = { step: () => 2, inner: () => 7 } as never;
  expect(stepsOf(log, 0, { loops: [3, null, 2] } as never)).toEqual([2, 3, 1]);
  expect(stepsOf(log, 0, { loops: [3, null] } as never)).toEqual([2, 7]);
});

it("values outside loops have the number of their execution if it is known", () => {
  const log = { execution: (at: number) => [-1, 7][at], occurrence: () => 2 } as never;
  const [outside, inside] = [{ loops: [] } as never, { loops: [3] } as never];
  expect([firingOf(log, 0, outside), firingOf(log, 1, outside), firingOf(log, 1, inside)]).toEqual([2, 7, 2]);
});
