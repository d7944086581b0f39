import { describe, expect, it, vi } from "vitest";
import { TestRun } from "../../test/fakes";
import { goldenBatch } from "../../test/golden";
import { FilteredStream } from "./filter";
import { Query } from "./query";
import type { Positions } from "./stream";

function listed(positions: Positions): number[] {
  return Array.from({ length: positions.length }, (_, i) => positions.at(i));
}

const ALL = { site: null, call: null };

describe("a filtered stream", () => {
  it("is the stream itself without a filter", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    const filtered = new FilteredStream(run.store, run.store.ordered, [new Query("")], ALL);
    expect(filtered.update()).toBe(run.store.ordered.positions);
  });

  it("includes new events, and searches again when lines come later", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    const filtered = new FilteredStream(run.store, run.store.ordered, [new Query("/[25]$/")], ALL);
    expect(listed(filtered.update())).toEqual([0, 2, 4]);
    run.store.apply(goldenBatch("small", { first: 5, texts: new Map() }));
    expect(filtered.update().length).toBe(3);
    const { columns, type, version } = goldenBatch("small");
    run.store.applyRows({
      ...{ columns, version, id: 1, run: "run-1", first: 0, count: 200 },
      type: type && "rows",
      texts: new Map([[7, "late 5"]]),
    });
    expect(listed(filtered.update())).toEqual([0, 2, 4, 7]);
  });

  it("can be limited to one site", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("lanes"));
    const stream = run.store.unordered;
    expect(new FilteredStream(run.store, stream, [new Query("")], { site: 2, call: null }).update().length).toBe(20);
    expect(new FilteredStream(run.store, stream, [new Query("site:train.py:8")], ALL).update().length).toBe(6);
  });

  it("can be limited to one call, and to one lane", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("lanes"));
    expect(new FilteredStream(run.store, run.store.merged, [], { site: null, call: 1 }).update().length).toBe(26);
    expect(new FilteredStream(run.store, run.store.merged, [], { site: null, call: 2 }).update().length).toBe(0);
    expect(new FilteredStream(run.store, run.store.merged, [new Query("lane:1")], ALL).update().length).toBe(3);
  });

  it("searches for some milliseconds, and continues in another frame", () => {
    const run = new TestRun();
    const whole = goldenBatch("large");
    for (let i = 0; i < 5; i++) run.store.apply({ ...whole, first: i * 10_000 });
    run.draw();
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 30));
    const filtered = new FilteredStream(run.store, run.store.merged, [new Query("site:loss")], ALL);
    expect(filtered.update().length).toBe(1024);
    expect(run.waitingFrames).toBe(1);
    clock.mockRestore();
    while (run.waitingFrames > 0) {
      run.draw();
      filtered.update();
    }
    expect(filtered.update().length).toBe(25_000);
  });
});
