import { describe, expect, it } from "vitest";
import { TestRun } from "../../test/fakes";
import { goldenBatch } from "../../test/golden";
import type { Batch, SiteMessage } from "../transport/wire";
import type { Line } from "./series";
import { Sites } from "./sites";
import { before } from "./steps";
import { Watched, type WatchTable } from "./watched";

const NOW = { moment: null, call: null };
const [LOGITS, LOSS, GRADIENT] = [1, 2, 3];

function watched(changes: Partial<Batch> = {}): TestRun {
  const run = new TestRun();
  run.store.apply(goldenBatch("watch", changes));
  return run;
}

function table({ store }: TestRun, site: number): WatchTable {
  return store.watched.tables.get(site) as WatchTable;
}

/**
 * Makes a batch of `count` executions of one site. Its first statistic is the index of the execution. `about` returns
 * further columns of each event.
 */
function executions(count: number, about: (i: number) => Record<string, number>): Batch {
  const { sites, events, ...rest } = goldenBatch("watch");
  const column = (name: string, other: (i: number) => number) =>
    Array.from({ length: count }, (_, i) => about(i)[name] ?? other(i));
  return {
    ...rest,
    sites: sites.slice(0, 1),
    count,
    events: {
      ...events,
      site: new Uint32Array(count).fill(LOGITS),
      time: Float64Array.from(column("time", (i) => i)),
      occurrence: Uint32Array.from(column("occurrence", (i) => i)),
      lane: Int32Array.from(column("lane", () => -1)),
      call: Int32Array.from(column("call", () => 0)),
      ...Object.fromEntries(
        ["execution", "step", "inner", "device"].map((name) => [name, Int32Array.from(column(name, () => -1))]),
      ),
    },
    points: {
      row: Uint32Array.from({ length: 2 * count }, (_, i) => i >> 1),
      element: new Uint16Array(0),
      value: Uint16Array.from({ length: 2 * count }, (_, i) => i % 2),
      y: Float64Array.from({ length: 2 * count }, (_, i) => (i % 2 ? 10 + (i >> 1) : i >> 1)),
    },
  };
}

describe("a value outside a loop, which arrives when the loop is over", () => {
  const rowsIn = (position: number[], isLast = false) => {
    const batch = executions(3, (i) => ({ call: i }));
    for (const site of batch.sites) Object.assign(site, { watch: { ...site.watch, position } });
    const run = new TestRun();
    run.store.apply(batch);
    const own = table(run, LOGITS);
    return [undefined, 0, 1, 2].map((during) =>
      own.rowAt({ moment: 0, call: null, ...(during === undefined ? {} : { during, loop: [2, 1], isLast }) }),
    );
  };

  it("is that of the call, if the program computes it before the loop or is given it", () => {
    for (const position of [[-1], [0], [1, 7], [2, 0], [2, 0, 9]]) expect(rowsIn(position)).toEqual([0, 0, 1, 0]);
  });

  it("is otherwise missing until the last step of its call", () => {
    for (const position of [[], [2], [2, 1], [2, 2], [2, 1, 0], [3]]) {
      expect(rowsIn(position)).toEqual([0, 0, -1, 0]);
      expect(rowsIn(position, true)).toEqual([0, 0, 1, 0]);
    }
  });
});

describe("watched values", () => {
  it("are in none of the streams, nor among the series of prints", () => {
    const { store } = watched();
    expect(store.watched.received).toBe(6);
    expect([store.ordered.received, store.unordered.received, store.merged.positions.length]).toEqual([0, 0, 0]);
    expect(store.series.size).toBe(0);
    expect(store.log.length).toBe(6);
    expect(store.streamSites).toEqual([]);
  });

  it("have no mean where no element is finite, and are marked in the plot of every statistic", () => {
    const nine = [
      [NaN, NaN, NaN, NaN, NaN, 0, 4, 0, 0],
      [1, 2, 1.5, 0.5, Infinity, 0, 0, 1, 0],
      [1, 2, 1.5, 0.5, 3, 0, 0, 0, 0],
    ];
    const points = {
      row: Uint32Array.from({ length: 27 }, (_, i) => Math.floor(i / 9)),
      element: new Uint16Array(0),
      value: Uint16Array.from({ length: 27 }, (_, i) => i % 9),
      y: Float64Array.from(nine.flat()),
    };
    const run = new TestRun();
    run.store.apply({ ...executions(3, () => ({})), points });
    const [mean] = run.store.watched.plotted([`${LOGITS}/2`]);
    expect([...(mean?.first?.y.view() ?? [])]).toEqual([1.5, 1.5]);
    expect([...(mean?.marks.y.view() ?? [])]).toEqual([NaN, Infinity]);
  });

  it("are looked up by moment and by call", () => {
    const logits = table(watched(), LOGITS);
    expect(logits.at(logits.rowAt(NOW), "mean")).toBe(0.25);
    expect(logits.at(logits.rowAt({ moment: 2, call: null }), "mean")).toBe(0.125);
    expect(logits.at(logits.rowAt({ moment: null, call: 1 }), "l2")).toBe(53.75);
    expect(logits.rowAt({ moment: null, call: 9 })).toBe(-1);
    expect(logits.at(0, "skewness")).toBeUndefined();
    expect(table(watched(), LOSS).rowAt({ moment: 0, call: null })).toBe(-1);
  });

  it("record which were not finite", () => {
    const run = watched();
    expect([...run.store.watched.bad.view()]).toEqual([5]);
    expect([0, 1].map((row) => table(run, GRADIENT).isBad(row))).toEqual([false, true]);
  });

  it("are checked for NaN and infinity if they are single numbers", () => {
    const { points } = goldenBatch("watch");
    const run = watched({ points: { ...points, y: points.y.map((y) => (y === 2.25 ? Number.NEGATIVE_INFINITY : y)) } });
    expect([...run.store.watched.bad.view()]).toEqual([1, 5]);
  });

  it("become series when they are plotted, and grow with the run", () => {
    const run = watched();
    const [mean] = run.store.watched.plotted(["1/2", "9/9"]);
    expect([...((mean?.first as Line | undefined)?.y.view() ?? [])]).toEqual([0.125, 0.25]);
    run.store.apply(goldenBatch("watch", { first: 6 }));
    const [same] = run.store.watched.plotted(["1/2"]);
    expect(same).toBe(mean);
    expect(same?.total).toBe(4);
  });

  it("of several lanes are combined", () => {
    const run = new TestRun();
    run.store.apply(executions(6, (i) => ({ lane: i % 3, occurrence: Math.floor(i / 3) })));
    const logits = table(run, LOGITS);
    const rows = logits.together(logits.rowAt(NOW));
    expect(rows).toEqual([5, 4, 3]);
    expect(logits.combined([5], "max")).toBe(15);
    expect(logits.combined(rows, "skewness")).toBeUndefined();
  });

  it("have the type, the loops and the intended infinities of their own call", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("types"));
    const h = table(run, 1);
    const rows = [0, 3, 8].map((row) => h.siteAt(row)?.watch);
    expect(rows.map((watch) => [watch?.shape, watch?.dtype, watch?.intended])).toEqual([
      [[3], "float32", ["neginf"]],
      [[5], "bfloat16", []],
      [[3], "float32", ["neginf"]],
    ]);
    expect(run.store.sites.get(1)?.watch?.shape).toEqual([5]);
    expect(run.store.siteAt(0)?.loops).toEqual([3]);
    const [series] = run.store.watched.plotted(["1/0"]);
    expect([...((series?.first as Line | undefined)?.x.view() ?? [])]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it("find the gradient of their own step, though the last layer's comes first", () => {
    const layers = 4;
    const forward = new TestRun();
    forward.store.apply(executions(8, (i) => ({ step: Math.floor(i / layers), inner: i % layers, time: i })));
    const backward = new TestRun();
    const inner = (i: number) => layers - 1 - (i % layers);
    backward.store.apply(executions(8, (i) => ({ step: Math.floor(i / layers), inner: inner(i), time: i })));
    const [value, gradient] = [table(forward, LOGITS), table(backward, LOGITS)];
    const row = value.rowAt({ moment: 1, call: null });
    const beside = gradient.rowBeside(value, row, { moment: 1, call: null });
    expect([gradient.at(beside, "step"), gradient.at(beside, "inner")]).toEqual([0, 1]);
  });

  it("find the iteration before their own, in their own call", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("types"));
    const h = table(run, 1);
    expect([0, 1, 2, 3, 4, 7, 8, 10].map((row) => h.rowBefore(h, row))).toEqual([-1, 0, 1, -1, 3, 6, -1, 9]);
  });

  it("know the iteration before in inner loops, and in loops from the end", () => {
    const [site] = goldenBatch("types").sites as [SiteMessage];
    const at = (loops: number[], reverse: boolean[], step: number, inner: number) =>
      before({ ...site, loops, reverse }, step, inner);
    expect(at([4, 3], [false, false], 2, 1)).toEqual({ step: 2, inner: 0 });
    expect(at([4, 3], [false, true], 2, 1)).toEqual({ step: 2, inner: 2 });
    expect(at([4, 3], [false, false], 2, 0)).toBeNull();
    expect(at([4, 3], [false, true], 2, 2)).toBeNull();
    expect(at([4], [true], 2, -1)).toEqual({ step: 3, inner: -1 });
    expect(at([4], [true], 3, -1)).toBeNull();
    expect(at([4, 0], [false, false], 1, 7)).toEqual({ step: 1, inner: 6 });
    expect([at([], [], -1, -1), at([4, 3], [false, false], 2, -1)]).toEqual([null, null]);
  });

  it("are thinned when they are too many, but for those that were not finite", () => {
    const { sites } = goldenBatch("watch");
    const known = new Sites();
    for (const site of sites) known.add(site);
    const watched = new Watched(known, 1);
    for (const site of sites) watched.addSite(site);
    for (let first = 0; first < 6000; first += 1000) {
      const batch = executions(1000, () => ({}));
      if (first === 0) batch.points.value[5] = 6;
      watched.append({ ...batch, first }, 0);
    }
    const logits = watched.tables.get(LOGITS) as WatchTable;
    expect(logits.total).toBe(6000);
    expect(logits.length).toBeLessThan(2100);
    expect(logits.at(logits.rowAt({ moment: 2, call: null }), "event")).toBe(2);
    expect(logits.isBad(logits.rowAt({ moment: 2, call: null }))).toBe(true);
    expect(logits.at(logits.length - 1, "event")).toBe(5999);
  });
});

it("values of one execution are found by any of its events", () => {
  const { events } = goldenBatch("watch");
  const run = watched({ events: { ...events, time: Float64Array.of(1, 1, 1, 2, 2, 2) } });
  expect([0, 2, 3].map((event) => run.store.log.endOf(event))).toEqual([2, 2, 5]);
});
