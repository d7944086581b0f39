import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { type WatchSite, WatchTable } from "../../store/watched";
import { heatOf, type Seen } from "./reading";

const site = (goldenBatch("watch").sites as WatchSite[])[0] as WatchSite;

function seenWith(l2: number): Seen {
  const table = new WatchTable(["l2"]);
  const row = table.push(goldenBatch("watch"), 0);
  table.set(row, 0, l2);
  return { table, row, rows: [row], get: (name) => table.at(row, name) ?? Number.NaN };
}

describe("the stripe beside a line", () => {
  it("tells how far elements are from 1", () => {
    const value = { site: { ...site, watch: { ...site.watch, shape: [4, 4] } } } as never;
    expect(heatOf(value, seenWith(4))).toBe(0);
    expect(heatOf(value, seenWith(4e-3))).toBeCloseTo(-0.5);
    expect(heatOf(value, seenWith(4e9))).toBe(1);
    expect(heatOf(value, seenWith(4e-30))).toBe(-1);
    expect(heatOf(value, seenWith(Number.NaN))).toBe(1);
    expect(heatOf(value, seenWith(0))).toBe(0);
  });
});
