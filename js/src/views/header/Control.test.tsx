import { expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { showTab, status } from "../../../test/screen";

const CASES = [
  { what: "a followed run", commands: "", why: "Read from a file" },
  { what: "a job that has not agreed", commands: "when the cell has ended", why: "have not agreed" },
];

it.each(CASES)("of $what Pause and Stop are greyed and say why", ({ commands, why }) => {
  showTab("overview", { ...goldenBatch("lanes"), status: status({ state: "running", stoppable: false, commands }) });
  for (const name of ["pause", "halt"]) {
    const button = document.querySelector<HTMLButtonElement>(`[data-testid=${name}]`);
    expect(button?.disabled).toBe(true);
    expect(button?.title).toContain(why);
  }
});
