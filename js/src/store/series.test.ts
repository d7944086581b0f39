import { expect, it } from "vitest";
import { decimate } from "./decimate";
import { Line } from "./series";

it("keeps the lows and highs when there are too many points", () => {
  const y = Float64Array.from({ length: 10_000 }, (_, i) => (i === 1234 ? 9 : i === 4321 ? -9 : Math.sin(i)));
  const drawn = decimate(y, 200);
  expect(drawn.length).toBeLessThanOrEqual(200);
  expect(drawn).toContain(1234);
  expect(drawn).toContain(4321);
  expect([...drawn].sort((a, b) => a - b)).toEqual(drawn);
});

it("keeps all points when there are few, but not those unwanted", () => {
  expect(decimate(Float64Array.of(3, -1, 2), 2000)).toEqual([0, 1, 2]);
  expect(decimate(Float64Array.of(3, -1, 2), 2000, (y) => y > 0)).toEqual([0, 2]);
});

it("thins a line that has grown too long", () => {
  const line = new Line();
  for (let i = 0; i < 200_000; i++) line.push(i, i / 10, i === 777 ? 1e6 : i % 5);
  expect(line.total).toBe(200_000);
  expect(line.y.length).toBeLessThan(140_000);
  expect(Math.max(...line.y.view().slice(0, 1000))).toBe(1e6);
  expect(line.x.at(-1)).toBe(199_999);
});
