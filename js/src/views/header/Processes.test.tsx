import { expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { all, click, showStreams, showTab, status, texts } from "../../../test/screen";
import { createUi } from "../../store/ui";

const process = (number: number, sign = "") => ({
  number,
  host: "node",
  state: "running",
  events: 3,
  sign,
  last: "call 2 `step` ready",
});

/** A batch in which `y` fires in two processes. */
function batch(copies: Record<string, number> = {}) {
  const golden = goldenBatch("lanes");
  const [y, z] = golden.sites as [(typeof golden.sites)[0], (typeof golden.sites)[0]];
  const twin = { ...y, id: z.id, process: 1 };
  return { ...golden, sites: [y, twin], status: status({ processes: [process(0), process(1, "is gone")], copies }) };
}

it("processes are listed with their last action, or the time since their last message", () => {
  showTab("overview", batch());
  expect(texts(".process .muted")).toEqual(["call 2 `step` ready", "is gone"]);
});

it("choosing a process filters the streams, whose lines name their process", () => {
  const ui = createUi();
  showStreams(batch(), ui);
  const tags = () => new Set(texts(".row .tag").filter((text) => text.startsWith("process")));
  click("[data-process='0']");
  expect(ui.filter.value).toBe("process:0");
  expect(tags()).toEqual(new Set(["process 0"]));
  click("[data-process='0']");
  click("[data-process='1']");
  expect(tags()).toEqual(new Set(["process 1"]));
});

it("processes are lines of one chart, or one line if their values are equal", () => {
  const { run } = showTab("source", batch());
  click("[data-testid=name]");
  expect(texts("[data-testid=overlay] b")).toEqual(["y · process 0", "y · process 1"]);
  const [first, second] = [...run.store.sites.keys()] as [number, number];
  showTab("source", batch({ [second]: first }));
  click("[data-testid=name]");
  expect(texts("[data-testid=plot] b").at(-1)).toBe("y · all 2 processes");
  expect(all("[data-testid=plot]").length).toBe(1);
});
