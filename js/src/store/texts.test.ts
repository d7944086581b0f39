import { expect, it } from "vitest";
import { Texts } from "./texts";

function recorded(): { texts: Texts; asked: [number, number][] } {
  const asked: [number, number][] = [];
  return { texts: new Texts((first, count) => asked.push([first, count])), asked };
}

it("texts are requested in chunks, each once, as far as they exist", () => {
  const { texts, asked } = recorded();
  texts.request([10, 11, 250], 260);
  texts.request([12], 260);
  expect(asked).toEqual([
    [0, 200],
    [200, 60],
  ]);
});

it("missing texts are not requested again, but newer ones are", () => {
  const { texts, asked } = recorded();
  texts.request([250], 260);
  texts.settle(200, 60);
  texts.request([250], 300);
  expect(asked).toHaveLength(1);
  texts.request([270], 300);
  expect(asked[1]).toEqual([200, 100]);
});

it("a few chunks of texts are requested at a time", () => {
  const { texts, asked } = recorded();
  texts.request([0, 200, 400, 600, 800, 1000], 2000);
  expect(asked).toHaveLength(4);
});

it("the oldest texts are dropped, and can be requested again", () => {
  const { texts, asked } = recorded();
  texts.request([0], 200);
  texts.settle(0, 200);
  texts.add(new Map(Array.from({ length: 200_200 }, (_, i) => [i, "line"])), 0);
  expect(texts.size).toBe(200_000);
  expect(texts.get(0)).toBeUndefined();
  texts.request([0], 200_200);
  expect(asked).toHaveLength(2);
});

it("all texts are requested block by block, the newest first", () => {
  const asked: number[][] = [];
  const texts = new Texts((first, count) => asked.push([first, count]));
  texts.add(new Map(Array.from({ length: 100 }, (_, i) => [i, "line"])), 4400);
  const answer = () => {
    const [first, count] = asked.at(-1) as [number, number];
    texts.add(new Map(Array.from({ length: count }, (_, i) => [i, "line"])), first);
    texts.settle(first, count);
  };
  for (let i = 0; i < 4; i++) {
    texts.requestAll(1000, 4500);
    if (i < 3) expect(texts.requestAll(1000, 4500)).toBe(asked.length > i);
    if (asked.length > i) answer();
  }
  expect(asked).toEqual([
    [4000, 500],
    [2000, 2000],
    [0, 2000],
  ]);
  expect(texts.requestAll(1000, 4500)).toBe(false);
});
