import { expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { showTab, status } from "../../../test/screen";

const CASES = [
  { what: "a followed run", commands: "", why: "Read from a file" },
  { what: "a job that has not agreed", commands: "when the cell has ended", why: "have not agreed" },
];

it.each(CASES)("Pause and Stop are disabled for $what, with a reason", ({ commands, why }) => {
  showTab("overview", { ...goldenBatch("lanes"), status: status({ state: "running", stoppable: false, commands }) });
  for (const name of ["pause", "halt"]) {
    const button = document.querySelector<HTMLButtonElement>(`[data-testid=${name}]`);
    expect(button?.disabled).toBe(true);
    expect(button?.title).toContain(why);
  }
});

it("the header of a run that was loaded while it was written says up to when it is shown, and how to load the rest", () => {
  const batch = goldenBatch("small");
  const started = new Date(2026, 0, 2, 15, 4, 5).getTime() / 1000;
  showTab("overview", { ...batch, status: status({ state: "loaded", started, barrier: batch.status.barrier }) });
  const state = document.querySelector<HTMLButtonElement>("[data-testid=state]");
  expect(state?.textContent).toBe("Loaded while it was running");
  expect(state?.title).toContain("jdw.load(path, follow=True) shows the rest");
  expect(document.querySelector(".numbers")?.textContent).toMatch(/ · last event 15:04:\d\d$/);
  const pause = document.querySelector<HTMLButtonElement>("[data-testid=pause]");
  expect([pause?.disabled, pause?.title]).toEqual([true, expect.stringContaining("goes on in another process")]);
});
