import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { WatchTable } from "../../store/watched";
import { barsOf, edgesOf, inWords, overSteps, usedOf } from "./histogram";

const VALUES = ["min", "hist -2^0", "hist -0", "hist +0", "hist +2^0", "value"];

function tableOf(rows: readonly (readonly number[])[]): WatchTable {
  const table = new WatchTable(VALUES);
  rows.forEach((counts, step) => {
    const row = table.push(goldenBatch("watch", { first: step }), 0);
    for (const [i, n] of counts.entries()) table.set(row, i + 1, n);
  });
  return table;
}

describe("histograms of magnitudes", () => {
  it("have bins by sign and lower edge", () => {
    const bars = barsOf(VALUES);
    expect(bars.map(({ from, isNegative }) => [from, isNegative])).toEqual([
      ["-2^0", true],
      ["-0", true],
      ["+0", false],
      ["+2^0", false],
    ]);
    const table = tableOf([[0, 2, 5, 1]]);
    expect(inWords(bars, (name) => table.at(0, name) as number)).toBe("+0 5 · -0 2 · +2^0 1");
    expect(barsOf(["min", "max"])).toEqual([]);
  });

  it("are shares of each step, side by side", () => {
    const over = overSteps(
      tableOf([
        [1, 0, 3, 0],
        [0, 0, 0, 8],
        [0, 0, 0, 0],
      ]),
      barsOf(VALUES),
      1,
    );
    expect(over.columns).toBe(3);
    expect([...over.shares]).toEqual([0.25, 0, 0.75, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    expect(over.at).toBe(0.5);
  });

  it("have an axis of numbers, limited to the used range", () => {
    const bars = barsOf(VALUES);
    expect(edgesOf(bars)).toEqual([
      { y: -1, at: 0.25 },
      { y: 0, at: 0.5 },
      { y: 1, at: 0.75 },
    ]);
    const shares = new Float32Array([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    expect(usedOf({ shares, columns: 2 }, 6)).toEqual([3, 6]);
    expect(usedOf({ shares: new Float32Array(6), columns: 1 }, 6)).toEqual([0, 6]);
  });

  it("of very many steps share columns", () => {
    const over = overSteps(tableOf(Array.from({ length: 960 }, (_, i) => [i % 2, 0, 0, 1])), barsOf(VALUES), null);
    expect(over.columns).toBe(480);
    expect(over.shares[0]).toBeCloseTo(1 / 3);
    expect(over.shares[3]).toBeCloseTo(2 / 3);
    expect(over.at).toBe(null);
  });

  it("are empty without steps", () => {
    expect(overSteps(new WatchTable(VALUES), barsOf(VALUES), null).columns).toBe(0);
  });
});
