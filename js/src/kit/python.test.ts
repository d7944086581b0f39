import { expect, it } from "vitest";
import { highlighted, type Span } from "./python";

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

it("carries a string over lines", () => {
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

it("loses nothing", () => {
  const lines = [
    "@jax.jit",
    'def f(x: "Array") -> int:',
    "\treturn x[...] ** 2 if x else '''",
    "größe = 1_000.",
    "'''  #",
  ];
  expect(highlighted(lines).map((line) => line.map(([, text]) => text).join(""))).toEqual(lines);
});
