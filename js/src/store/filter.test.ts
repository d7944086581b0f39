import { describe, expect, it } from "vitest";
import { TestRun } from "../../test/fakes";
import { goldenBatch } from "../../test/golden";
import { FilteredStream, parseQuery } from "./filter";

describe("a query", () => {
  it("finds words in any case", () => {
    expect(parseQuery("LOSS 2").line?.("loss 2.5")).toBe(true);
    expect(parseQuery("loss 3").line?.("loss 2.5")).toBe(false);
  });

  it("understands regular expressions, and says when it does not", () => {
    expect(parseQuery("/nan|inf/").line?.("g inf")).toBe(true);
    expect(parseQuery("/NAN/i").line?.("g nan")).toBe(true);
    expect(parseQuery("/(/").problem).not.toBe("");
  });

  it("takes the site apart from the text", () => {
    const query = parseQuery("site:Train.py:41 2.5");
    expect(query.site).toBe("train.py:41");
    expect(query.line?.("loss 2.5")).toBe(true);
    expect(parseQuery("  ").line).toBeNull();
  });
});

describe("a filtered stream", () => {
  it("is the stream itself when nothing is asked", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    const filtered = new FilteredStream(run.store, run.store.ordered, parseQuery(""), null);
    expect(filtered.update()).toBe(run.store.ordered.positions);
  });

  it("goes on with the new events, and starts again when lines come later", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("small"));
    const filtered = new FilteredStream(run.store, run.store.ordered, parseQuery("/[25]$/"), null);
    expect([...filtered.update().view()]).toEqual([0, 2, 4]);
    run.store.apply(goldenBatch("small", { first: 5, texts: new Map() }));
    expect(filtered.update().length).toBe(3);
    const { columns, type, version } = goldenBatch("small");
    run.store.applyRows({
      ...{ columns, version, id: 1, run: "run-1", first: 0, count: 200 },
      type: type && "rows",
      texts: new Map([[7, "late 5"]]),
    });
    expect([...filtered.update().view()]).toEqual([0, 2, 4, 7]);
  });

  it("can keep one site", () => {
    const run = new TestRun();
    run.store.apply(goldenBatch("lanes"));
    const stream = run.store.unordered;
    expect(new FilteredStream(run.store, stream, parseQuery(""), 2).update().length).toBe(20);
    expect(new FilteredStream(run.store, stream, parseQuery("site:train.py:8"), null).update().length).toBe(6);
  });
});
