import { describe, expect, it } from "vitest";
import { asTyped, highlighted, type Span } from "./python";

const coloured = (line: string) => highlighted([line])[0]?.filter(([kind]) => kind !== "");

it.each<[string, Span[]]>([
  [
    "def loss_fn(params):",
    [
      ["keyword", "def"],
      ["definition", "loss_fn"],
    ],
  ],
  [
    "    return -(logp * y).mean() / 2.5e-3  # why",
    [
      ["keyword", "return"],
      ["number", "2.5e-3"],
      ["comment", "# why"],
    ],
  ],
  [
    `x = rb'it\\'s' + f"{y!r} # no" "`,
    [
      ["string", "rb'it\\'s'"],
      ["string", 'f"{y!r} # no"'],
      ["string", '"'],
    ],
  ],
  ["is_none = x1.for_ + .5 + in_", [["number", ".5"]]],
  [
    "c:f32[3] = mul a 0x1F",
    [
      ["number", "3"],
      ["number", "0x1F"],
    ],
  ],
  ["", []],
])("colours %s", (line, expected) => {
  expect(coloured(line)).toEqual(expected);
});

it("the Python highlighter continues a string over several lines", () => {
  const lines = ['"""Loss of a batch: for', "  if 3", '  """; return 1', "'''a''' if '''b", "c"];
  const kinds = highlighted(lines).map((line) => line.map(([kind]) => kind));
  expect(kinds).toEqual([
    ["string"],
    ["string"],
    ["string", "", "keyword", "", "number"],
    ["string", "", "keyword", "", "string"],
    ["string"],
  ]);
});

it("the Python highlighter keeps every character", () => {
  const lines = [
    "@jax.jit",
    'def f(x: "Array") -> int:',
    "\treturn x[...] ** 2 if x else '''",
    "größe = 1_000.",
    "'''  #",
  ];
  expect(highlighted(lines).map((line) => line.map(([, text]) => text).join(""))).toEqual(lines);
});

describe("a line of a cell", () => {
  it.each([
    ["get_ipython().run_line_magic('load_ext', 'jax_debug_widgets')", "%load_ext jax_debug_widgets"],
    ["get_ipython().run_line_magic('matplotlib', '')", "%matplotlib"],
    ["took = get_ipython().run_line_magic('timeit', '-o f(\\'x\\')')", "took = %timeit -o f('x')"],
    ["files = get_ipython().getoutput('ls *.py')", "files = !ls *.py"],
    ["    get_ipython().system(\"echo 'a'\")", "    !echo 'a'"],
    ["h = get_ipython().user_ns", "h = get_ipython().user_ns"],
  ])("is read as it was typed: %s", (line, typed) => {
    expect(asTyped(line)).toBe(typed);
  });
});
