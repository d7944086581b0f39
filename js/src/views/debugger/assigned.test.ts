import { expect, it } from "vitest";
import { goldenStop } from "../../../test/golden";
import type { FrameMessage, LocalMessage } from "../../transport/stops";
import { assigned } from "./assigned";

const local = (name: string, text = name.toUpperCase(), shape: number[] | null = null): LocalMessage => ({
  ...{ name, text, shape, type: "", dtype: shape && "float32", device: "", stats: null },
});

function beside(source: string[], line = 100): Record<number, string> {
  const [frame] = goldenStop().frames as [FrameMessage];
  const locals = [local("a"), local("b"), local("c", "Array([0.1, 0.2, 0.3], dtype=float32)", [3])];
  return Object.fromEntries(assigned({ ...frame, source, first_line: 1, line, locals }));
}

it.each([
  ["    a = f(b)", "a = A"],
  ["a, (b, *_) = f()", "a = A, b = B"],
  ["a: Array = f()", "a = A"],
  ["a:f32[3] b:i32[] = mul 1 2", "a = A, b = B"],
  ["c = f()", "c = float32[3]"],
])("%s", (line, expected) => {
  expect(beside([line])).toEqual({ 1: expected });
});

it.each(["f(a=1)", "if a == b:", "x.a = 1", "x[a] = 1", "a += 1 if b else 2", "return a", "d = 1"])(
  "not beside %s",
  (line) => {
    expect(beside([line])).toEqual({});
  },
);

it("only before the current line", () => {
  expect(beside(["a = 1", "b = 2", "c = 3"], 2)).toEqual({ 1: "a = A" });
});

it("only in the function of the current line", () => {
  const source = [
    "def other(b):",
    "    a = 1",
    "b = 2",
    "def f(",
    "    x,",
    "):",
    "    a = x",
    "    def g(",
    "        x,",
    "    ):",
    "        b = x",
    "    for _ in x:",
    "        c = a",
    "        return g(c)",
  ];
  expect(beside(source, 14)).toEqual({ 7: "a = A", 13: "c = float32[3]" });
  expect(beside(source, 11)).toEqual({});
  expect(beside(source, 4)).toEqual({ 3: "b = B" });
});
