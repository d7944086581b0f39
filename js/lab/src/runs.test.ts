import { describe, expect, it } from "vitest";
import { row } from "../test/fakes";
import { Runs } from "./runs";

describe("the runs of a kernel", () => {
  it("are listed with the newest first, in their latest state", () => {
    const runs = new Runs();
    runs.apply({ type: "runs", version: 1, way: "shell", keys: ["a", "b"], runs: [row("a"), row("b")] });
    runs.apply({ type: "runs", version: 1, way: "shell", keys: ["a", "b"], runs: [row("a", { events: 7 })] });
    expect(runs.newestFirst.value.map(({ key, events }) => [key, events])).toEqual([
      ["b", 0],
      ["a", 7],
    ]);
    expect(runs.newest.value?.key).toBe("b");
  });

  it("tell whether one has begun", () => {
    const runs = new Runs();
    expect(runs.apply({ type: "runs", version: 1, way: "shell", keys: ["a"], runs: [row("a")] })).toBe(true);
    expect(runs.apply({ type: "runs", version: 1, way: "shell", keys: ["a"], runs: [row("a", { events: 1 })] })).toBe(
      false,
    );
  });

  it("are removed when the kernel drops them, and all when it restarts", () => {
    const runs = new Runs();
    runs.apply({ type: "runs", version: 1, way: "shell", keys: ["a", "b"], runs: [row("a"), row("b")] });
    runs.apply({ type: "runs", version: 1, way: "shell", keys: ["b", "c"], runs: [row("c")] });
    expect(runs.newestFirst.value.map(({ key }) => key)).toEqual(["c", "b"]);
    expect(runs.has("a")).toBe(false);
    runs.clear();
    expect(runs.newestFirst.value).toEqual([]);
    expect(runs.newest.value).toBeUndefined();
  });
});
