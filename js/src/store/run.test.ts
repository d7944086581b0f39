import { effect } from "@preact/signals";
import { describe, expect, it, vi } from "vitest";
import { TestRun } from "../../test/fakes";
import { goldenBatch, goldenRows } from "../../test/golden";
import type { OneStream } from "./stream";

function shown({ store }: TestRun, stream: OneStream): string[] {
  return [...stream.positions.view()].map((position) => {
    const gap = store.log.gapCount(position);
    return gap > 0 ? `gap ${gap}` : (store.texts.get(store.log.number(position)) ?? "…");
  });
}

describe("a run", () => {
  it("puts events into the stream of their site", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    expect(shown(run, run.store.ordered)).toEqual(["loss 2.5", "loss 1.25", "loss 0.625"]);
    expect(shown(run, run.store.unordered)).toEqual(["x [1. 2.]\n  [3. 4.]", "x [0. 0.]"]);
    expect(Object.fromEntries(run.store.fired)).toEqual({ 1: 3, 2: 2 });
    expect(run.store.next).toBe(5);
    expect(run.asked).toEqual([]);
  });

  it("is drawn rarely while no view is visible, and at once when one becomes visible", () => {
    vi.useFakeTimers();
    const run = new TestRun();
    const [one, two] = [{}, {}];
    let drawn = 0;
    const stop = effect(() => {
      run.store.watch();
      drawn++;
    });
    run.store.seen(one, true);
    run.store.seen(two, false);
    run.store.changed();
    expect(run.waitingFrames).toBe(1);
    run.draw();
    expect(drawn).toBe(2);
    run.store.seen(one, false);
    run.store.changed();
    expect(run.waitingFrames).toBe(0);
    vi.advanceTimersByTime(500);
    expect(drawn).toBe(3);
    run.store.changed();
    run.store.seen(two, true);
    expect(drawn).toBe(4);
    run.store.seen(two, undefined);
    run.store.seen(one, undefined);
    run.store.changed();
    expect(run.waitingFrames).toBe(1);
    stop();
    vi.useRealTimers();
  });

  it("accepts a repeated batch only once", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    run.store.apply(goldenBatch("small"));
    expect(run.store.ordered.received).toBe(3);
    expect(run.store.series.ofSite(1)?.total).toBe(3);
    expect(run.store.batches).toBe(2);
  });

  it("accepts the new part of an overlapping batch", () => {
    const run = new TestRun();
    const whole = goldenBatch("large");
    const half = { ...whole, count: 5000, texts: new Map<number, string>(), points: cut(whole.points, 5000) };
    run.store.apply({ ...half, events: cut(whole.events, 5000) });
    run.store.apply(whole);
    expect(run.store.next).toBe(10_000);
    expect(run.store.series.ofSite(1)?.total).toBe(5000);
    expect(run.store.series.ofSite(2)?.total).toBe(5000);
    expect(run.store.log.occurrence(9999)).toBe(4999);
  });

  it("requests missing events once, and drops the batch but keeps its news", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    run.store.apply(goldenBatch("small", { first: 50 }));
    run.store.apply(goldenBatch("small", { first: 55, status: { ...goldenBatch("small").status, state: "failed" } }));
    expect(run.asked).toEqual(["sync 5"]);
    expect(run.store.next).toBe(5);
    expect(run.store.status?.state).toBe("failed");
    for (let i = 2; i < 64; i++) run.store.apply(goldenBatch("small", { first: 60 }));
    expect(run.asked).toEqual(["sync 5", "sync 5"]);
  });

  it("shows events that the kernel has dropped as one gap", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("dropped"));
    expect(run.asked).toEqual([]);
    expect(shown(run, run.store.ordered)).toEqual(["gap 1000", "loss 0.1", "loss 0.09"]);
    expect(run.store.ordered.received).toBe(2);
    expect(run.store.fired.get(1)).toBe(1002);
    expect(run.store.log.find(1001)).toBe(2);
    expect(run.store.log.find(0)).toBe(-1);
  });

  it("draws NaN and infinities separately from the line", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("nonfinite"));
    const series = run.store.series.ofSite(3);
    expect([...(series?.first?.y.view() ?? [])]).toEqual([1, 5e-324, -0]);
    expect([...(series?.marks.x.view() ?? [])]).toEqual([1, 2, 3]);
    expect([...(series?.marks.y.view() ?? [])]).toEqual([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ]);
    expect(series?.total).toBe(6);
  });

  it("has a line for each lane, and a band of many", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("lanes"));
    const [few, many] = run.store.series.all();
    expect([few?.strands, few?.traces.length]).toEqual([3, 3]);
    expect(few?.elements.get(0)?.traces.map(({ x }) => [...x.view()])).toEqual([
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
    expect([many?.strands, many?.traces.length, many?.total]).toEqual([20, 1, 20]);
    const band = many?.elements.get(0)?.band;
    expect([band?.x, band?.low, band?.high, band?.y].map((column) => [...(column?.view() ?? [])])).toEqual([
      [0],
      [3],
      [12.5],
      [7.75],
    ]);
  });

  it("draws by the true step, continuing from call to call, for each device separately", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("steps"));
    const [series] = run.store.series.all();
    expect([...(series?.elements.keys() ?? [])]).toEqual([0, 1]);
    const [first, second] = series?.elements.get(1)?.traces ?? [];
    expect([...(first?.x.view() ?? [])]).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]);
    expect([...(second?.x.view() ?? [])]).toEqual([...(first?.x.view() ?? [])]);
    expect([...(second?.y.view() ?? [])]).toEqual([9, 11, 13, 15, 25, 27, 29, 31]);
    expect([run.store.log.step(3), run.store.log.inner(3), run.store.devices[run.store.log.device(4)]]).toEqual([
      1,
      1,
      "cpu:1",
    ]);
  });

  it("fills in rows that come later", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("large"));
    expect(run.store.texts.get(200)).toBeUndefined();
    run.store.texts.request([200], run.store.next);
    expect(run.asked).toEqual(["rows 200 200"]);
    run.store.applyRows(goldenRows());
    expect(run.store.texts.get(201)).toBe("loss 2.2\nsecond line");
  });

  it("mutes a site, and says why it cannot", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    run.store.askMute(2, true);
    expect(run.asked).toEqual(["mute 2 true"]);
    expect(run.store.status?.muted).toEqual([2]);
    run.store.askMute(2, false);
    expect(run.store.status?.muted).toEqual([]);
  });

  it("records every n-th firing of a site", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("dropped"));
    expect(run.store.status?.every).toEqual({ 1: 10 });
    run.store.askEvery(2, 5);
    expect(run.asked).toContain("every 2 5");
    expect(run.store.status?.every).toEqual({ 1: 10, 2: 5 });
  });

  it("draws once per frame, whatever the number of batches", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    run.store.apply(goldenBatch("small"));
    expect(run.waitingFrames).toBe(1);
    run.draw();
    run.store.apply(goldenBatch("small"));
    expect(run.waitingFrames).toBe(1);
  });

  it("bounds its memory and counts dropped events", () => {
    const run = new TestRun();
    const whole = goldenBatch("large");
    for (let i = 0; i <= 200; i++) run.store.apply({ ...whole, first: i * 10_000, texts: new Map() });
    const { log, ordered, next } = run.store;
    expect(next).toBe(2_010_000);
    expect(log.length).toBe(1_510_001);
    expect(log.gapCount(0)).toBe(500_000);
    expect(log.find(500_000)).toBe(1);
    expect(ordered.positions.at(0)).toBe(0);
    expect(log.number(ordered.positions.at(-1))).toBe(2_009_998);
    expect(ordered.received).toBe(1_005_000);
  }, 30_000);
});

function cut<T extends object>(columns: T, count: number): T {
  const shorter = Object.entries(columns).map(([name, column]) => [name, column.subarray(0, count)]);
  return Object.fromEntries(shorter) as T;
}
