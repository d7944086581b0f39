import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { twins } from "../../../test/twins";
import { type WatchSite, WatchTable } from "../../store/watched";
import type { WatchMessage } from "../../transport/wire";
import { paired } from "./rows";

const [site] = goldenBatch("watch").sites as [WatchSite];

interface Pairing {
  name: string;
  sites: ({ id: number; order: number } & Pick<WatchMessage, "role" | "value" | "gradient">)[];
  gradients: Record<string, number>;
}

describe("values are matched with their gradients", () => {
  it.each(twins<Pairing>("gradients_of_values"))("$name", ({ sites, gradients }) => {
    const all = sites.map(({ id, order, ...watch }) => ({ ...site, id, order, watch: { ...site.watch, ...watch } }));
    const found = paired(all);
    const own = found.filter(({ site, gradient }) => gradient && gradient !== site);
    expect(Object.fromEntries(own.map(({ site, gradient }) => [site.id, gradient?.id]))).toEqual(gradients);
    const ids = found.flatMap(({ site, gradient }) => [site.id, gradient?.id ?? site.id]);
    expect(new Set(ids)).toEqual(new Set(sites.map(({ id }) => id)));
  });
});

type Expected = Record<string, number | string | null>;

interface Merging {
  name: string;
  elements: unknown[][];
  merges: Record<string, string>;
  lanes: Expected[];
  whole: Expected;
}

describe("statistics of lanes are merged by the rule that the kernel sends", () => {
  it.each(twins<Merging>("merged_statistics"))("$name", ({ elements, merges, lanes, whole }) => {
    const values = Object.keys(lanes[0] ?? {});
    const watch = {
      ...site.watch,
      shape: [elements[0]?.length ?? 0],
      merges: values.map((name) => merges[name] ?? ""),
    };
    const table = new WatchTable(values, () => ({ ...site, values, watch }));
    const rows = lanes.map((lane) => {
      const row = table.push(goldenBatch("watch"), 0);
      values.forEach((name, i) => {
        table.set(row, i, Number(lane[name]));
      });
      return row;
    });
    for (const [name, wanted] of Object.entries(whole)) {
      const combined = table.combined(rows, name);
      if (wanted === null) expect(combined, name).toBeUndefined();
      else if (Number.isFinite(Number(wanted))) expect(combined, name).toBeCloseTo(Number(wanted), 5);
      else expect(combined, name).toBe(Number(wanted));
    }
  });
});
