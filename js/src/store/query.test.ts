import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../test/golden";
import type { CallMessage, SiteMessage } from "../transport/wire";
import { chipsOf, Query, toggleTerm } from "./query";

const [LOSS, X] = goldenBatch("small").sites as [SiteMessage, SiteMessage];
const [CALL] = goldenBatch("small").calls as [CallMessage];

describe("a query", () => {
  it("finds words in any case, and symbols exactly", () => {
    expect(new Query("LOSS 2").line?.test("loss 2.5")).toBe(true);
    expect(new Query("loss 3").line?.test("loss 2.5")).toBe(false);
    expect(new Query("x [1.").line?.test("x [1. 2.]")).toBe(true);
    expect(new Query("x [1.").line?.test("x [12")).toBe(false);
    expect(new Query("GRÖSSE").line?.test("größe grösse")).toBe(true);
  });

  it("understands regular expressions, and reports invalid ones", () => {
    expect(new Query("/nan|inf/").line?.test("g inf")).toBe(true);
    expect(new Query("/NAN/").line?.test("g nan")).toBe(false);
    expect(new Query("/NAN/i").line?.test("g nan")).toBe(true);
    const { line, hint } = new Query("/[unclosed/");
    expect([line?.test("a line"), hint]).toEqual([false, "/[unclosed/ is not a regular expression."]);
  });

  it("separates terms from text", () => {
    const query = new Query("site:Train.py:41 2.5 lane:3");
    expect(query.line?.source).toBe("2\\.5");
    expect(query.wantsSite(LOSS)).toBe(true);
    expect(query.wantsSite(X)).toBe(false);
    expect([query.wantsPlace(3, -1, ""), query.wantsPlace(-1, 3, "")]).toEqual([true, false]);
    expect(new Query("  ").isEmpty).toBe(true);
  });

  it("filters by phase, kind, transformation and call", () => {
    const backward = { ...X, phase: "backward", name_stack: "jit(f)/transpose(jvp())" };
    expect([LOSS, backward].map((site) => new Query("phase:back").wantsSite(site))).toEqual([false, true]);
    expect([LOSS, backward].map((site) => new Query("kind:ordered").wantsSite(site))).toEqual([true, false]);
    expect([LOSS, backward].map((site) => new Query("in:transpose").wantsSite(site))).toEqual([false, true]);
    expect(["call:1", "call:ste", "call:7"].map((text) => new Query(text).wantsCall(1, CALL))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("filters by steps and devices", () => {
    const steps = (text: string) => [-1, 0, 9, 10, 20].filter((step) => new Query(text).wantsPlace(-1, step, ""));
    expect(["step:9", "step:9-10", "step:10-", "step:-9", "-step:9", "step:"].map(steps)).toEqual([
      [9],
      [9, 10],
      [10, 20],
      [0, 9],
      [-1, 0, 10, 20],
      [0, 9, 10, 20],
    ]);
    const devices = (text: string) =>
      ["", "cpu:1", "cpu:11"].filter((name) => new Query(text).wantsPlace(-1, -1, name));
    expect(["device:cpu:1", "device:1", "device:", "device:cpu:1 device:11", "-device:1"].map(devices)).toEqual([
      ["cpu:1"],
      ["cpu:1"],
      ["cpu:1", "cpu:11"],
      ["cpu:1", "cpu:11"],
      ["", "cpu:11"],
    ]);
  });

  it("adds or removes a term", () => {
    expect(toggleTerm("loss", "lane:3")).toBe("loss lane:3");
    expect(toggleTerm("lane:3 loss lane:31", "lane:3")).toBe("loss lane:31");
  });

  it("excludes terms with a minus", () => {
    const query = new Query("-site:loss");
    expect([LOSS, X].map((site) => query.wantsSite(site))).toEqual([false, true]);
  });

  it.each(["foo:3", "loss -steps:10-20", "Step:3"])("says of %s that there is no such term", (input) => {
    const { hint, line } = new Query(input);
    expect(hint).toMatch(/^There is no \w+: to filter by, .* There are name: step: lane: device: /);
    expect(line?.test(input)).toBe(true);
  });

  it.each(["loss", "step:3", "-lane:2", "/foo:3/", "loss: 3", "10:30", ""])("has no such hint for %s", (input) => {
    expect(new Query(input).hint).toBe("");
  });

  it.each(["value > 0.9", "loss>=-1", "params['w'] == 1e-3", "name:loss x < .5"])(
    "says of %s that it is text, and what compares values",
    (input) => {
      const { hint, line } = new Query(input);
      const text = input.replace("name:loss ", "");
      expect(hint).toContain(`${text} is looked for as text`);
      expect(hint).toContain(`--when '${text}'`);
      expect(line?.test(`a ${text}`)).toBe(true);
    },
  );

  it.each(["a -> 3", "x=3", "> 3", "<b>", "/x > 3/", "3 >> 1", "step 3 > done"])(
    "has no hint about comparisons for %s",
    (input) => {
      expect(new Query(input).hint).toBe("");
    },
  );

  it("consists of chips and text, and a term being typed is text", () => {
    const filter = "name:loss 2.5 -lane:3";
    expect(chipsOf(filter, false)).toEqual({ chips: ["name:loss", "-lane:3"], text: "2.5" });
    expect(chipsOf(filter, true)).toEqual({ chips: ["name:loss"], text: "2.5 -lane:3" });
    expect(chipsOf(`${filter} `, true).chips).toEqual(["name:loss", "-lane:3"]);
    expect(chipsOf("2.5 foo:3 ", true)).toEqual({ chips: [], text: "2.5 foo:3 " });
    expect(chipsOf("name:", false)).toEqual({ chips: [], text: "name:" });
  });

  it.each([
    ["step:abc", /^step: takes a number or a range .* 10-20/],
    ["lane:5-3", /^lane: takes a number or a range from the lower to the higher/],
    ["-phase:backwards", /^phase: takes one of forward, backward, recompute\.$/],
    ["loss kind:prnt", /^kind: takes one of ordered, unordered, print, /],
  ])("says of %s what may be asked for, and makes no chip of it", (input, words) => {
    expect(new Query(input).hint).toMatch(words);
    expect(chipsOf(`${input} `, true).chips).toEqual([]);
    expect(chipsOf(input, false).chips).toEqual([]);
  });

  it.each(["step:3-5", "step:10-", "step:-", "phase:back", "kind:uno", "name:a:b", "device:cpu:1"])(
    "takes %s",
    (input) => expect(new Query(input).hint).toBe(""),
  );

  it("does not take a term as the value of the empty one before it", () => {
    const query = new Query("name:step:3-5");
    expect([query.wantsSite(LOSS), query.wantsPlace(-1, 3, ""), query.wantsPlace(-1, 6, "")]).toEqual([
      true,
      true,
      false,
    ]);
    expect(chipsOf("name:-step:3-5 ", true)).toEqual({ chips: ["-step:3-5"], text: "name: " });
  });

  it("accepts the old word for a name", () => {
    for (const word of ["name", "site"]) expect(new Query(`${word}:loss`).wantsSite(LOSS)).toBe(true);
  });
});
