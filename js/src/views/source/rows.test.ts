import { describe, expect, it } from "vitest";
import { TestRun } from "../../../test/fakes";
import { goldenBatch } from "../../../test/golden";
import { status } from "../../../test/screen";
import { highlighted } from "../../kit/python";
import type { SiteMessage, WatchMessage } from "../../transport/wire";
import { filesOf, functionAt } from "./files";
import { codeOf, type Piece, piecesOf, rowsOf, valuesOf } from "./rows";

const LINE = "    logits, n = jnp.dot(x, w + 1.0), 3  # of a layer";

interface Made {
  name: string;
  text?: string;
  role?: WatchMessage["role"];
  order?: number;
  value?: number | null;
  gradient?: number | null;
  site?: Partial<SiteMessage>;
}

/** Returns a run that watched the parts of `LINE`, which is line 21. */
function watching(...made: Made[]): TestRun {
  const run = new TestRun();
  const batch = goldenBatch("watch");
  const [first] = batch.sites as [SiteMessage];
  const sites = made.map(
    ({ name, text = name, role = "value", order = 0, value = null, gradient = null, site = {} }, i) => ({
      ...first,
      id: i + 1,
      line: 21,
      end_line: 21,
      column: LINE.indexOf(text),
      end_column: LINE.indexOf(text) + text.length,
      order,
      source: LINE,
      watch: { ...(first.watch as WatchMessage), name, role, value, gradient },
      ...site,
    }),
  );
  run.store.apply({ ...batch, count: 0, sites });
  return run;
}

const DOT = { name: "logits", text: "jnp.dot(x, w + 1.0)" };
const values = (run: TestRun) => valuesOf(run.store, "train.py").lines.get(21) ?? [];

describe("the values of a line", () => {
  it("are those that are not part of another value, until it is opened", () => {
    const run = watching({ name: "w + 1.0" }, DOT, { name: "x" });
    const { lines } = valuesOf(run.store, "train.py");
    const code = [{ line: 21, text: LINE, spans: [] }];
    const names = (open: number[]) =>
      rowsOf(code, lines, new Set(open)).map(({ value, index, more }) => [value?.site.watch.name, index, more]);
    expect(names([])).toEqual([["logits", 0, 2]]);
    expect(names([21])).toEqual([
      ["logits", 0, 0],
      ["x", 1, 0],
      ["w + 1.0", 2, 0],
    ]);
  });

  it("leave a row for further names that could be watched", () => {
    const { lines } = valuesOf(watching(DOT).store, "train.py");
    const code = [20, 21].map((line) => ({ line, text: LINE, spans: [] }));
    const name = { line: 21, column: 0, end_line: 21, end_column: 9, name: "rest", why: "not asked for", root: "" };
    const rows = (pattern: string) =>
      rowsOf(code, lines, new Set(), [{ ...name, pattern }]).map((row) => [row.code.line, row.index, !!row.value]);
    expect(rows("")).toEqual([
      [20, 0, false],
      [21, 0, true],
    ]);
    expect(rows("rest")).toEqual([
      [20, 0, false],
      [21, 0, true],
      [21, 1, false],
    ]);
  });

  it("offer the leaves of a tree in rows of their own once it is opened", () => {
    const { lines } = valuesOf(watching(DOT).store, "train.py");
    const code = [{ line: 21, text: LINE, spans: [] }];
    const place = { line: 21, column: 0, end_line: 21, end_column: 9, why: "not asked for" };
    const names = ["w['a']", "w['b']"].map((name) => ({ ...place, name, pattern: name, root: "w" }));
    const rows = (open: number[], offered = names) =>
      rowsOf(code, lines, new Set(open), offered).map(({ value, leaf, more }) => [!!value, leaf?.name ?? "", more]);
    expect(rows([])).toEqual([[true, "", 2]]);
    const tree = { ...place, name: "w", pattern: "w", root: "" };
    expect(rows([], [tree, ...names])).toEqual([
      [true, "", 2],
      [false, "", 2],
    ]);
    expect(rows([21])).toEqual([
      [true, "", 0],
      [false, "w['a']", 0],
      [false, "w['b']", 0],
    ]);
  });

  it("of a loop that Python unrolled are counted", () => {
    const run = watching(
      { ...DOT, order: 1 },
      { ...DOT, order: 2 },
      { ...DOT, order: 7, role: "gradient", value: 1 },
      { ...DOT, order: 6, role: "gradient", value: 2 },
    );
    expect(values(run).map(({ site, gradient, nth }) => [site.id, gradient?.id, nth])).toEqual([
      [1, 3, "1/2"],
      [2, 4, "2/2"],
    ]);
  });

  it("of several processes name their processes, and equal values appear once", () => {
    const made = [0, 1].flatMap((process) => [
      { ...DOT, order: 1, site: { process } },
      { name: "x", order: 2, site: { process, label: "x" } },
    ]);
    const run = watching(...made);
    run.store.apply({ ...goldenBatch("watch"), count: 0, sites: [], status: status({ copies: { "4": 2 } }) });
    const named = values(run).map(({ site, nth }) => [site.watch.name, site.process, nth]);
    expect(named).toEqual([
      ["logits", 0, "process 0"],
      ["logits", 1, "process 1"],
      ["x", 0, "all 2 processes"],
    ]);
  });

  it("have the gradient that the kernel assigns, although another pass of the line has none", () => {
    const run = watching(
      { ...DOT, order: 1 },
      { ...DOT, order: 2 },
      { ...DOT, order: 3 },
      { ...DOT, order: 6, role: "gradient", value: 2 },
    );
    expect(values(run).map(({ site, gradient, nth }) => [site.id, gradient?.id ?? null, nth])).toEqual([
      [1, null, "1/3"],
      [2, 4, "2/3"],
      [3, null, "3/3"],
    ]);
  });

  it("have the gradient that came before them, and no gradient without a value", () => {
    const run = watching(
      { ...DOT, order: 6, role: "gradient", value: -1 },
      { ...DOT, order: 7, role: "gradient", value: -1 },
      { ...DOT, order: 1 },
      { ...DOT, order: 2, gradient: 1 },
    );
    expect(values(run).map(({ site, gradient }) => [site.id, gradient?.id ?? null])).toEqual([
      [3, null],
      [4, 1],
      [2, 2],
    ]);
  });

  it("have the first of several gradients, and the others are separate", () => {
    const gradient = { ...DOT, role: "gradient" as const, value: 1 };
    const run = watching({ ...DOT, order: 1 }, { ...gradient, order: 5 }, { ...gradient, order: 8 });
    expect(values(run).map(({ site, gradient }) => [site.order, gradient?.order])).toEqual([
      [1, 5],
      [8, 8],
    ]);
  });

  it("show a gradient without a value", () => {
    const alone = watching({ ...DOT, role: "gradient", value: -1 });
    expect(values(alone).map(({ site, gradient }) => site === gradient)).toEqual([true]);
  });
});

describe("a line of code", () => {
  const flat = (pieces: readonly Piece[]): string =>
    pieces.map(({ text, kind, value, parts }) => (value ? `[${flat(parts)}]` : kind ? `<${text}>` : text)).join("");
  const cut = (run: TestRun, line = LINE) =>
    flat(piecesOf({ line: 21, text: line, spans: highlighted([line])[0] ?? [] }, values(run)));

  it("is split into coloured parts and nested ranges with values", () => {
    expect(cut(watching(DOT, { name: "w + 1.0" }, { name: "w" }))).toBe(
      "    [logits], n = [jnp.dot(x, [[w] + <1.0>])], <3>  <# of a layer>",
    );
    expect(cut(watching())).toBe("    logits, n = jnp.dot(x, w + <1.0>), <3>  <# of a layer>");
  });

  it("is marked as the continuation of an expression", () => {
    const run = watching({ ...DOT, site: { end_line: 23, end_column: 5 } });
    const { over } = valuesOf(run.store, "train.py");
    expect([...over.keys()]).toEqual([21, 22, 23]);
    const last = { line: 23, text: "    ) + 2", spans: highlighted(["    ) + 2"])[0] ?? [] };
    expect(flat(piecesOf(last, over.get(23) ?? []))).toBe("    [)] + <2>");
  });

  it("has a name marked only if it is one", () => {
    const run = watching({ ...DOT, name: "n", site: { column: 16, end_column: 35 } });
    expect(cut(run)).toBe("    logits, [n] = [jnp.dot(x, w + <1.0>)], <3>  <# of a layer>");
  });
});

it("the lines are those of the sites if there is no file", () => {
  const run = watching(DOT, { ...DOT, site: { line: 9, source: "y = 1" } });
  expect(codeOf(run.store, "train.py", null).map(({ line, text }) => [line, text])).toEqual([
    [9, "y = 1"],
    [21, LINE],
  ]);
});

it("the cells of the notebook come before files, and a line belongs to the function around it", () => {
  const cell = { file: "/tmp/ipykernel_1/2.py", where: "In [3]:21", function: "train" };
  const run = watching(DOT, { ...DOT, site: { ...cell, line: 30 } }, { ...DOT, site: { ...cell, function: "loss" } });
  const files = filesOf(run.store);
  expect(files.map(({ name, functions }) => [name, functions.map(({ name }) => name)])).toEqual([
    ["In [3]", ["loss", "train"]],
    ["train.py", ["step"]],
  ]);
  const [first] = files;
  if (!first) throw new Error("there are two");
  expect([5, 21, 29, 31].map((line) => functionAt(first, line))).toEqual([0, 0, 0, 1]);
});
