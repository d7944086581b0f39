import { expect, it } from "vitest";
import { twins } from "../../test/twins";
import { count, plural, pluralFired, rate, seconds, shortFunction, tick, value } from "./format";

it.each(twins<{ seconds: number; words: string }>("times"))("$seconds seconds are $words", ({ seconds: s, words }) =>
  expect(seconds(s)).toBe(words),
);

interface Fired {
  count: number;
  kinds: string[];
  words: string;
}

it.each(twins<Fired>("fired_words"))("$count that fired at $kinds are $words", ({ count: n, kinds, words }) =>
  expect(pluralFired(n, kinds)).toBe(words),
);

it("formats counts, rates and values for people", () => {
  expect(count(1_234_567)).toBe("1\u2009234\u2009567");
  expect(plural(1, "event")).toBe("1 event");
  expect(rate(0.2)).toBe("0/s");
  expect(rate(123_456)).toBe("123 k/s");
  expect(value(Number.NaN)).toBe("nan");
  expect(value(Number.NEGATIVE_INFINITY)).toBe("-inf");
  expect(value(0.147_41)).toBe("0.14741");
  expect(value(1e-7)).toBe("1.000e-7");
  expect(value(824)).toBe("824");
  expect([4e18, -5e-7, 0.30000000000000004, 2.30255, 150_000, 0].map(tick)).toEqual([
    "4e18",
    "-5e-7",
    "0.3",
    "2.30255",
    "150000",
    "0",
  ]);
});

it.each([
  ["step", "step"],
  ["train.<locals>.step", "step"],
  ["train.<locals>.Model.apply", "Model.apply"],
  ["grow.<locals>.dish.<locals>.frame.<locals>.<lambda>", "frame.<lambda>"],
  ["train.<locals>.<lambda>.<locals>.<listcomp>", "train.<lambda>.<listcomp>"],
])("names the function %s %s", (qualified, short) => {
  expect(shortFunction(qualified)).toBe(short);
});
