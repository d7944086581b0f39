import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { type WatchSite, WatchTable } from "../../store/watched";
import { badOf, heatOf, type Seen } from "./reading";

const site = (goldenBatch("watch").sites as WatchSite[])[0] as WatchSite;

function seenWith(l2: number): Seen {
  const table = new WatchTable(["l2"], () => ({ ...site, watch: { ...site.watch, shape: [4, 4] } }));
  const row = table.push(goldenBatch("watch"), 0);
  table.set(row, 0, l2);
  const lookup = (name: string) => table.at(row, name);
  return { table, row, site, rows: [row], ...ABOUT, lookup, get: (name) => lookup(name) ?? Number.NaN };
}

const ABOUT = { when: "", earlier: "", local: null, mask: () => "" };

describe("the stripe beside a line", () => {
  it("shows how far elements are from 1", () => {
    expect(heatOf(seenWith(4))).toBe(0);
    expect(heatOf(seenWith(4e-3))).toBeCloseTo(-0.5);
    expect(heatOf(seenWith(4e9))).toBe(1);
    expect(heatOf(seenWith(4e-30))).toBe(-1);
    expect(heatOf(seenWith(Number.NaN))).toBe(1);
    expect(heatOf(seenWith(0))).toBe(0);
  });
});

describe("the check for values that are not finite", () => {
  const seen = (values: string[], numbers: number[], intended: string[]): Seen => {
    const table = new WatchTable(values, () => ({ ...site, watch: { ...site.watch, intended } }));
    const row = table.push(goldenBatch("watch"), 0);
    numbers.forEach((number, i) => {
      table.set(row, i, number);
    });
    const lookup = (name: string) => table.at(row, name);
    return { table, row, site, rows: [row], ...ABOUT, lookup, get: (name) => lookup(name) ?? Number.NaN };
  };

  it("counts NaN and infinities, without those of a mask", () => {
    const values = ["nan", "posinf", "neginf"];
    expect(badOf(seen(values, [1, 2, 3], []))).toBe("1 nan · 2 inf · 3 -inf");
    const masked = seen(values, [0, 0, 3], ["neginf"]);
    expect(badOf(masked)).toBe("");
    expect(masked.table.isBad(0)).toBe(false);
    expect(badOf(seen(values, [1, 2, 3], ["neginf"]))).toBe("1 nan · 2 inf");
  });

  it("takes a single number too", () => {
    const of = (number: number) => seen(["value"], [number], ["neginf"]);
    expect([1, Number.NaN, Number.POSITIVE_INFINITY].map((one) => badOf(of(one)) !== "")).toEqual([false, true, true]);
    expect(of(Number.NEGATIVE_INFINITY).table.isBad(0)).toBe(false);
  });
});
