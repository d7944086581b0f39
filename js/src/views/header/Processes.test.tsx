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

it("are named with what they last did, or since when nothing is heard of them", () => {
  showTab("overview", batch());
  expect(texts(".process .muted")).toEqual(["call 2 `step` ready", "is gone"]);
});

it("filter the streams, where each line says which process it is of", () => {
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

it("are lines of one chart, or one line where the values are the same", () => {
  const { run } = showTab("source", batch());
  click("[data-testid=name]");
  expect(texts("[data-testid=overlay] b")).toEqual(["y · process 0", "y · process 1"]);
  const [first, second] = [...run.store.sites.keys()] as [number, number];
  showTab("source", batch({ [second]: first }));
  click("[data-testid=name]");
  expect(texts("[data-testid=plot] b").at(-1)).toBe("y · all 2 processes");
  expect(all("[data-testid=plot]").length).toBe(1);
});
