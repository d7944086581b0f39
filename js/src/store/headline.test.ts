import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { activationLeaves, gradientLeaves, ratioLeaves } from "./charted";
import { huesOf, inLoop, isBias, kindOf, largest, numbered, type Path, pathOf, titleOf } from "./groups";
import {
  bornOf,
  compiledOf,
  counts,
  factsOf,
  goneFrom,
  paceOf,
  paceOfCalls,
  rankOf,
  withoutCounters,
} from "./headline";
import { laneCount, laneCourse } from "./lanes";
import { Element, Series } from "./series";
import type { WatchSite } from "./watched";

/** The cases that the kernel's half must pass, too. */
const CASES = JSON.parse(readFileSync(join(import.meta.dirname, "../../../tests/overview_cases.json"), "utf8"));

interface ChartedCase {
  sites: [string, "value" | "gradient", string, number[], string, string, string[], string?][];
  gradients: [number, string, string][];
  ratios: [number, number][];
  activations: [number, string][];
}

describe("the values of the overview", () => {
  it.each(CASES.charted as ChartedCase[])("are chosen as in the saved output: %#", (one) => {
    const sites = one.sites.map(([name, role, phase, shape, dtype, primitive, values, of = ""], number) => {
      return {
        number,
        phase,
        values,
        function: of,
        watch: { name, role, shape, dtype, primitive },
      } as never as WatchSite & Numbered;
    });
    const gradients = gradientLeaves(sites).map(({ site, path }) => [site.number, path.group, path.leaf]);
    expect(gradients).toEqual(one.gradients);
    expect(ratioLeaves(sites).map(({ leaf, of }) => [leaf.site.number, of.number])).toEqual(one.ratios);
    const activations = activationLeaves(sites).map(({ site, path }) => [site.number, path.group]);
    expect(activations).toEqual(one.activations);
  });
});

const NOTHING = {
  steps: 0,
  pace: null,
  elapsed: 1,
  loss: null,
  quality: null,
  nan: null,
  findings: 0,
  checked: "",
  compiled: null,
};

interface PrintedLanes {
  steps: number[];
  lanes: number[];
  values: (number | null)[];
  means: (number | null)[];
  count: number;
  bad: number;
}

interface Numbered {
  number: number;
}

describe("the overview, with the rules of the kernel's side", () => {
  it.each(CASES.ranks as [string, boolean, boolean, number][])("ranks %s", (name, forward, watched, rank) => {
    expect(rankOf(name, { forward, watched })).toBe(rank);
  });

  it.each(CASES.counters as [number[], string, boolean][])("detects a counter: %j %s", (values, dtype, isCounter) => {
    expect(counts(values, dtype)).toBe(isCounter);
  });

  it.each(CASES.counters_of_a_name as [[string, number[]][], boolean[]][])(
    "tells counters of a name: %j",
    (all, are) => {
      const found = all.map(([dtype, values]) => ({ name: "count", dtype, series: seriesOf(values) }));
      const left = withoutCounters(found);
      expect(found.map((one) => !left.includes(one))).toEqual(are);
    },
  );

  it.each(CASES.counters_in_lanes as [number[], number[], number[], boolean][])(
    "tells a counter in lanes: %j %j %j",
    (x, lanes, values, isCounter) => {
      const one = { name: "count", dtype: "int32", series: seriesOf(values, x, lanes) };
      expect(withoutCounters([one])).toEqual(isCounter ? [] : [one]);
    },
  );

  it.each(CASES.paths as [string, [string, string, string] | null, string, boolean][])(
    "knows the place of %s in its tree",
    (name, place, kind, bias) => {
      const path = pathOf(name);
      expect(path && [path.root, path.group, path.leaf]).toEqual(place);
      expect(path ? kindOf(path.root) : "").toBe(kind);
      expect(path !== null && isBias(path.leaf)).toBe(bias);
    },
  );

  it.each(CASES.titles as [string, string][])("labels the line of %s %s", (name, title) => {
    expect(titleOf(pathOf(name) as Path)).toBe(title);
  });

  it.each(CASES.in_loop as [number[], number[]][])("draws together values that came %j times", (times, drawn) => {
    expect(inLoop([...times.keys()], (i) => times[i] as number)).toEqual(drawn);
  });

  it.each(CASES.numbered as [string[], string[]][])("numbers equal names: %j", (words, names) => {
    expect(numbered(words)).toEqual(names);
  });

  it.each(CASES.largest as [(number | null)[], number, number[]][])(
    "takes of %j the largest %d",
    (sizes, most, kept) => {
      const items = sizes.map((size, i) => ({ i, size: size ?? Number.NaN }));
      expect(largest(items, most).map(({ i }) => i)).toEqual(kept);
    },
  );

  it.each(CASES.hues as [[string, number | null][], Record<string, number>][])("assigns hues %j", (sizes, hues) => {
    const groups = sizes.map(([group, size]) => ({ group, size: size ?? Number.NaN }));
    expect(Object.fromEntries(huesOf(groups))).toEqual(hues);
  });

  it.each(CASES.born as [string, string, string][])("knows the cause of %s", (headline, label, name) => {
    const found = bornOf([
      { kind: "keys", headline: "`k` used twice", where: "", lane: [] },
      { kind: "nonfinite", headline, where: "a.py:3", lane: [2] },
    ]);
    expect(found).toEqual({ name, where: "a.py:3", step: null, lane: [2], device: "", nan: label === "First NaN" });
  });

  it.each(CASES.paces as [number[], number[], number | null][])("computes the time of a step", (x, time, pace) => {
    expect(paceOf(x, time)).toEqual(pace);
  });

  it.each(
    CASES.call_paces as [[string, number, number | null, number | null][], string, number, number | null, number?][],
  )("tells by the calls how long a step took: %j", (calls, name, steps, pace, since) => {
    const all = calls.map(([name, started, compile, ready]) => ({ name, started, compile, ready }));
    expect(paceOfCalls(all, name, steps, since)).toEqual(pace);
  });

  it.each(CASES.lane_numbers as [number[], number[], number][])(
    "knows the lanes that have one number each: %j of %j",
    (shape, vmapped, count) => {
      expect(laneCount({ shape, vmapped })).toBe(count);
    },
  );

  it.each(CASES.printed_lanes as PrintedLanes[])(
    "knows from which mean to which lanes went that print one by one: %#",
    ({ steps, lanes, values, means, count, bad }) => {
      const series = new Series(1, 0);
      const loops = { areAny: true, at: (step: number) => step, turn: (step: number) => step } as never;
      const column = (of: number[]) => Int32Array.from(of);
      const rest = steps.map(() => 0);
      const zero = { time: rest, occurrence: rest, call: rest, execution: rest, inner: rest, device: rest };
      const events = { ...zero, step: column(steps), lane: column(lanes) } as never;
      for (const [i, y] of values.entries()) series.push({ events }, i, 0, y ?? Number.NaN, loops);
      expect(series.isOfLanes).toBe(true);
      const ends = [means[0], means.at(-1)].map((y) => y ?? Number.NaN);
      expect(laneCourse(series)).toEqual({ first: ends[0], last: ends[1], lanes: { count, bad } });
    },
  );

  it.each(CASES.lane_means as [number, number, string][])("labels the mean of %i lanes", (count, bad, words) => {
    const loss = { name: "loss", where: "a.py:7", first: 2, last: 1, lanes: { count, bad } };
    const [fact] = factsOf({ ...NOTHING, loss });
    expect([fact?.note, fact?.bad]).toEqual([`a.py:7, ${words}`, bad > 0]);
  });

  it.each(CASES.courses as [number | null, number | null, string][])("writes %s to %s", (first, last, words) => {
    expect(goneFrom(first ?? Number.NaN, last ?? Number.NaN)).toBe(words);
  });
});

function seriesOf(values: number[], x = [...values.keys()], lanes = values.map(() => 0)): Series {
  const [series, element] = [new Series(1, 0), new Element()];
  series.elements.set(0, element);
  for (const [i, y] of values.entries()) element.push(lanes[i] as number, x[i] as number, i, y, 0);
  return series;
}

describe("the facts", () => {
  it("leave out unknown facts", () => {
    expect(factsOf(NOTHING)).toEqual([]);
    expect(factsOf({ ...NOTHING, steps: 1 }).map(({ label, value }) => [label, value])).toEqual([["Step", "1"]]);
  });

  it("say how often functions were compiled", () => {
    const call = (name: string, compile: number | null, numba: number | null = null) =>
      ({ name: `${name}(x)`, function: name, compile, trace: 0.1, lower: null, numba }) as never;
    expect(compiledOf([call("f", null)])).toBeNull();
    const words = (...calls: never[]) => {
      const [fact] = factsOf({ ...NOTHING, compiled: compiledOf(calls) });
      return [fact?.value, fact?.note];
    };
    expect(words(call("f", 1))).toEqual(["once", "1.10 s"]);
    expect(words(call("f", 1), call("g", 1), call("f", null))).toEqual(["2 functions", "2.20 s"]);
    expect(words(call("f", 1), call("f", 2))).toEqual(["2 times", "3.20 s"]);
    expect(words(call("f", 1), call("g", 1), call("f", 2))).toEqual(["3 times", "2 functions, 4.30 s"]);
    expect(words(call("f", 1, 4), call("f", 1, null))).toEqual(["2 times", "6.20 s, 4.00 s of it Numba"]);
    expect(words(call("f", 1, 0.1))).toEqual(["once", "1.20 s"]);
  });

  it("say how much of the time of the steps was compiling", () => {
    const note = (elapsed: number, seconds: number) =>
      factsOf({ ...NOTHING, steps: 40, elapsed, compiled: { times: 1, functions: 1, seconds, numba: 0 } })[0]?.note;
    expect(note(31.1, 23.5)).toBe("in 31.1 s, 23.5 s of it compiling");
    expect([note(31.1, 1), note(1, 2)]).toEqual(["in 31.1 s", "in 1.00 s"]);
  });

  it("say which checks found nothing", () => {
    const words = (findings: number) =>
      factsOf({ ...NOTHING, findings, checked: "oob, keys" }).map(({ label, value, bad }) => [label, value, bad]);
    expect(words(0)).toEqual([["oob, keys", "found nothing", false]]);
    expect(words(2)).toEqual([["Findings", "2", true]]);
  });

  it("mark errors", () => {
    const loss = { name: "loss", where: "In [2]:24", first: 2.29, last: Number.NaN };
    const nan = { name: "∂ n2", where: "In [2]:7", step: 20, lane: [3, 0], device: "cpu:2", nan: true };
    const facts = factsOf({ ...NOTHING, loss, nan });
    expect(facts.map(({ label, value, note, bad }) => [label, value, note, bad])).toEqual([
      ["loss", "2.29 → nan", "In [2]:24", true],
      ["First NaN", "∂ n2", "In [2]:7, step 20, lane (3, 0), cpu:2", true],
    ]);
  });
});
