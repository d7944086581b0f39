import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { showTab } from "../../../test/screen";
import type { Compared, Difference, RunRow, RunsPorts } from "../../store/rows";
import { inOrder, NEWEST, numbersOfSame, orderedBy } from "./order";
import { drawnOf, oddOf } from "./overlay";
import { Runs } from "./Runs";
import { RunsView } from "./RunsView";

const host = document.createElement("div");
document.body.append(host);
afterEach(() => render(null, host));

function row(key: string, changes: Partial<RunRow> = {}): RunRow {
  return {
    ...{ key, title: "train()", state: "done", started: 0, elapsed: 1, events: 0 },
    ...{ barrier: "drained", pending: [], waited: 0, ...changes },
  } as RunRow;
}

const COMPARED: Compared = {
  runs: ["a", "b", "c"],
  missing: [],
  by: "lr",
  groups: [
    { runs: [0, 2], label: "0.1" },
    { runs: [1], label: "0.2" },
  ],
  config: [{ name: "lr", values: ["0.1", "0.2", "0.1"] }],
  parted: {
    name: "h",
    where: "In [2]:8",
    source: "h = 2 * x",
    first: 4,
    at: 9,
    worst: "Infinity",
    values: [1, "NaN", 1],
  },
  values: [
    { name: "h", where: "In [2]:8", source: "h = 2 * x", first: 4, at: 9, worst: "Infinity", values: [1, "NaN", 1] },
    { name: "x", where: "In [2]:7", source: "x = 1", first: null, at: 11, worst: 0, values: [3, 3, null] },
  ],
  compared: 2,
  unread: 1,
  charts: [
    {
      name: "loss",
      where: "In [2]:9",
      lines: [
        { group: 0, of: 2, x: [0, 1], seconds: [0.1, 0.2], y: [3, 2], low: [2, 1], high: [4, 3] },
        { group: 1, of: 1, x: [0, 1, 2], seconds: [0.1, 0.2, 0.3], y: [3, "NaN", "-Infinity"] },
      ],
    },
  ],
};

function shown(
  rows: readonly RunRow[],
  answer: Compared | string = COMPARED,
  whenAsked: (settle: () => void) => void = (settle) => settle(),
) {
  const asked: string[] = [];
  const ports: RunsPorts = {
    rename: (of, name) => asked.push(`rename ${of} ${name}`),
    compare: (runs, settle) => {
      asked.push(`compare ${runs}`);
      whenAsked(() => settle(answer));
    },
    load: (path, settle) => {
      asked.push(`load ${path}`);
      settle("there is nothing like it");
    },
  };
  let ticked: readonly string[] = [];
  const draw = () =>
    render(
      <RunsView
        rows={rows}
        ports={ports}
        dark={false}
        ticked={ticked}
        onTicked={(keys) => {
          ticked = keys;
          draw();
        }}
      />,
      host,
    );
  act(draw);
  return asked;
}

const texts = (selector: string) => [...host.querySelectorAll(selector)].map(({ textContent }) => textContent);
const click = (selector: string) => act(() => host.querySelector<HTMLElement>(selector)?.click());
const tick = (key: string) => click(`[data-run=${key}] input`);

describe("the order of runs", () => {
  const rows = [
    row("a", { started: 1, last: 2 }),
    row("b", { started: 2, last: "NaN" }),
    row("c", { started: 3, last: 1 }),
  ];
  const keys = (order = NEWEST) => inOrder(rows, order).map(({ key }) => key);

  it("is the newest first, or by any column in both directions, with NaN last", () => {
    expect(keys()).toEqual(["c", "b", "a"]);
    const up = orderedBy("last", orderedBy("last", NEWEST));
    expect(keys({ ...up, descending: true })).toEqual(["a", "c", "b"]);
    expect([up.descending, keys(up)]).toEqual([false, ["c", "a", "b"]]);
  });

  it("counts those with the same name and cell, the oldest first", () => {
    const alike = [row("x", { started: 2, cell: 3 }), row("y", { started: 1, cell: 3 }), row("z", { cell: 4 })];
    expect([...numbersOfSame(alike)]).toEqual([
      ["y", 1],
      ["x", 2],
    ]);
  });
});

describe("the table of runs", () => {
  it("shows the configuration of each run", () => {
    shown([row("a", { config: { lr: 0.0003, seed: 1, sizes: [2, 3] } }), row("b", { config: {} })]);
    expect(texts(".run-config")).toEqual(["lr=3.0e-4 seed=1 sizes=[2,3]", ""]);
  });

  it("says once that two runs are equal, and labels them alike everywhere", () => {
    const groups = [0, 1].map((place) => ({ runs: [place], label: `--option ${place}` }));
    const [, same] = COMPARED.values as [Difference, Difference];
    const answer = {
      ...COMPARED,
      runs: ["a", "b"],
      by: "",
      groups,
      parted: null,
      values: [same],
      config: [],
      unread: 0,
    };
    shown([row("a", { cell: 3 }), row("b", { cell: 2 })], answer);
    for (const key of ["a", "b"]) tick(key);
    expect(texts(".differs-table tbody th")).toEqual(["the same in 2 values"]);
    expect(texts(".what-differs .compared-note")).toEqual([]);
    expect(texts(".legend-entry b")).toEqual(["In [3]", "In [2]"]);
    expect(texts(".differs-table .of-run")).toEqual(["In [3]", "In [2]"]);
    expect(texts("[data-testid=overlay] .bad-text")).toEqual(["In [2] is NaN from step 1"]);
  });

  it("requests the comparison of two selected runs in the order of selection, and shows what differs", () => {
    const asked = shown([row("a"), row("b"), row("c")]);
    for (const key of ["a", "b", "c"]) tick(key);
    expect(asked).toEqual(["compare a,b", "compare a,b,c"]);
    expect(texts(".legend-entry")).toEqual(["0.1mean of 2 seeds", "0.2"]);
    expect(texts(".differs-table tbody th")).toEqual(["lr", "first difference: h In [2]:8", "h In [2]:8h = 2 * x"]);
    expect(texts(".differs-table tr.parted td.number")).toEqual(["4"]);
    expect(texts(".differs-table td.bad-text")).toEqual(["NaN"]);
    expect(host.textContent).toContain("The same: 1 value. 1 further value not compared");
    expect(texts("[data-testid=overlay] .bad-text")).toEqual(["0.2 is NaN from step 1"]);
    expect(texts("[data-testid=overlay] .muted")).toEqual(["In [2]:9"]);
    tick("b");
    tick("c");
    expect(host.querySelector(".compared-charts")).toBeNull();
  });

  it.each([[COMPARED], ["They are gone."]])("says which values are loading until they are answered: %#", (answer) => {
    let settle = () => {};
    shown([row("a"), row("b"), row("c")], answer, (one) => {
      settle = one;
    });
    const head = () => texts(".runs-head b, .runs-head output[aria-live=polite]");
    expect(head()).toEqual(["3 runs", ""]);
    for (const key of ["a", "b"]) tick(key);
    expect(head()).toEqual(["2 of 3 ticked", "loading the values of 2 runs…"]);
    act(() => settle());
    expect(head()).toEqual(["2 of 3 compared", ""]);
    tick("c");
    expect(head()).toEqual(["3 of 3 ticked", "loading the values of 1 more run…"]);
    act(() => settle());
    expect(head()).toEqual(["3 of 3 compared", ""]);
    tick("c");
    expect(head()).toEqual(["2 of 3 compared", ""]);
  });

  it("refuses to compare a ninth run", () => {
    shown(Array.from({ length: 9 }, (_, i) => row(`r${i}`)));
    for (let i = 0; i < 8; i++) tick(`r${i}`);
    expect(host.querySelectorAll("input:disabled")).toHaveLength(1);
  });

  it("stores a typed name, and discards one that is left with Escape", () => {
    const asked = shown([row("a", { name: "old", cell: 3 })]);
    for (const key of ["Escape", "Enter"]) {
      click("[aria-label='Rename In [3] old']");
      const field = host.querySelector(".run-field") as HTMLInputElement;
      field.value = " new ";
      act(() => void field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
    }
    expect(asked).toEqual(["rename a new"]);
  });

  it("opens a file by its path, and says why it cannot", () => {
    const asked = shown([row("a")]);
    click("[aria-label='Open a run from a file']");
    const field = host.querySelector("[aria-label='File of the run']") as HTMLInputElement;
    field.value = "sweep/*.jdw";
    act(() => void field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })));
    expect(asked).toEqual(["load sweep/*.jdw"]);
    expect(texts("[role=alert]")).toEqual(["there is nothing like it"]);
  });

  it("says why runs cannot be compared, and which are gone", () => {
    shown([row("a"), row("b")], "They are gone.");
    tick("a");
    tick("b");
    expect(texts("[role=alert]")).toEqual(["They are gone."]);
  });

  it("sorts 100 runs on a click", () => {
    const rows = Array.from({ length: 100 }, (_, i) => row(`r${i}`, { started: i, asked: "--watch-all", last: i }));
    shown(rows);
    click("th.col-last .sort");
    expect(texts("td.col-last").slice(0, 2)).toEqual(["99", "98"]);
  });
});

describe("charts of several runs", () => {
  const [chart] = COMPARED.charts as [Compared["charts"][number]];

  it("have curves of finite values with bands, and marks where values are not finite", () => {
    const { curves, marks, from, to } = drawnOf(chart, false, null);
    expect(curves.map(({ line, x, band }) => [line, x, band?.low])).toEqual([
      [0, [0, 1], [2, 1]],
      [1, [0], undefined],
    ]);
    expect([marks, from, to]).toEqual([
      [
        { line: 1, x: 1, y: Number.NaN },
        { line: 1, x: 2, y: Number.NEGATIVE_INFINITY },
      ],
      0,
      2,
    ]);
    expect(drawnOf(chart, true, null).to).toBe(0.3);
    expect(oddOf(chart)).toEqual([{ group: 1, from: 1, words: "NaN" }]);
  });
});

describe("the runs in the panel of one of them", () => {
  it("keep this run ticked when another is ticked before this one is listed", () => {
    const { run: test, ui } = showTab("overview", goldenBatch("small"));
    const run = test.store;
    const rows = [row("a"), row(run.key)];
    run.table.rows.value = rows.slice(0, 1);
    act(() => render(<Runs run={run} ui={ui} dark={false} />, host));
    tick("a");
    act(() => {
      run.table.rows.value = rows;
    });
    act(() => render(<Runs run={run} ui={ui} dark={false} />, host));
    expect([...host.querySelectorAll<HTMLInputElement>("tbody input")].map(({ checked }) => checked)).toEqual([
      true,
      true,
    ]);
  });
});
