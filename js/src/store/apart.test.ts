import { expect, it } from "vitest";
import { goldenBatch } from "../../test/golden";
import { distinguish } from "./apart";

const [site] = goldenBatch("lanes").sites;
if (!site) throw new Error("the case has no sites");

it("values of one line called from several places are labelled by the first caller that differs", () => {
  const sites = [
    { ...site, id: 1, callers: ["block.py:5", "net.py:10"] },
    { ...site, id: 2, callers: ["block.py:5", "net.py:12"] },
    { ...site, id: 3, label: "other", callers: ["block.py:9"] },
    { ...site, id: 4, phase: "backward", callers: ["block.py:5", "net.py:10"] },
  ];
  expect([...distinguish(sites)]).toEqual([
    [1, "net.py:10"],
    [2, "net.py:12"],
  ]);
});

it("values of several processes are labelled by process, and equal values by all processes", () => {
  const of = (id: number, process: number, callers = ["net.py:10"]) => ({ ...site, id, process, callers });
  expect([...distinguish([of(1, 0), of(2, 1), of(3, 2)], { 3: 1 })]).toEqual([
    [1, "processes 0, 2"],
    [2, "process 1"],
    [3, "process 2"],
  ]);
  expect(distinguish([of(1, 0), of(2, 1)], { 2: 1 }).get(1)).toBe("all 2 processes");
  const called = [of(1, 0), of(2, 0, ["net.py:12"]), of(3, 1), of(4, 1, ["net.py:12"])];
  expect(distinguish(called).get(4)).toBe("net.py:12 · process 1");
});
