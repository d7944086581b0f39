import { expect, it } from "vitest";
import { goldenBatch } from "../../test/golden";
import { tellApart } from "./apart";

const [site] = goldenBatch("lanes").sites;
if (!site) throw new Error("the case has no sites");

it("names the first caller that differs, and only where one line is called from several places", () => {
  const sites = [
    { ...site, id: 1, callers: ["block.py:5", "net.py:10"] },
    { ...site, id: 2, callers: ["block.py:5", "net.py:12"] },
    { ...site, id: 3, label: "other", callers: ["block.py:9"] },
    { ...site, id: 4, phase: "backward", callers: ["block.py:5", "net.py:10"] },
  ];
  expect([...tellApart(sites)]).toEqual([
    [1, "net.py:10"],
    [2, "net.py:12"],
  ]);
});
