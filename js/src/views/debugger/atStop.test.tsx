import { act } from "preact/test-utils";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { goldenBatch, goldenStop } from "../../../test/golden";
import { all, find, showTab, stopAt, texts } from "../../../test/screen";
import type { LocalMessage } from "../../transport/stops";
import type { StatusMessage } from "../../transport/wire";

const STATS = { size: 1, nan: 0, inf: 0, zero: 0, min: 7.5, max: 7.5, mean: 7.5, std: 0 };
const LOSS: LocalMessage = {
  name: "loss",
  type: "Array",
  text: "Array(7.5, dtype=float32)",
  shape: [],
  dtype: "float32",
  device: "",
  stats: STATS,
};

/** Shows the golden run at a stop of call 2. Its `loss` at line 22 was computed only in call 1. */
function standAt(locals: LocalMessage[], { line = 30, earlier = [4] } = {}) {
  const batch = goldenBatch("watch");
  for (const event of earlier) batch.events.call[event] = 1;
  const shown = showTab("source", batch);
  const frame = {
    index: 0,
    file: "train.py",
    where: "train.py:30",
    function: "step",
    first_line: 21,
    source: Array(12).fill(""),
  };
  stopAt(shown.run, goldenStop({ event: 5, site: 3, step: [], frame: 0, frames: [{ ...frame, line, locals }] }));
  act(() => {
    shown.ui.value.value = 2;
    shown.run.draw();
  });
  return shown;
}

const of = (name: string) => find(`[data-testid=value][data-name='${name}']`);
const isMarked = (name: string) => of(name).classList.contains("earlier");

// happy-dom does no layout.
beforeEach(() => void vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(600));

describe("the values beside the lines, at a stop", () => {
  it("are those of its step, and values of an earlier step are marked", () => {
    standAt([]);
    expect([isMarked("logits"), isMarked("loss")]).toEqual([false, true]);
    expect(of("loss").querySelector(".of-earlier")?.textContent?.trim()).toBe("call 1");
    expect(of("loss").getAttribute("aria-description")).toContain("(this step's has not come yet)");
    expect(find("[data-testid=inspect-when]").textContent).toContain("this step's has not come yet");
    expect(all(".name-row.earlier").map((row) => row.dataset.of)).toEqual(["loss"]);
  });

  it("are those of the frame if the step has no row of them yet", () => {
    standAt([LOSS]);
    expect(isMarked("loss")).toBe(false);
    expect(of("loss").querySelector(".value-range")?.textContent).toBe("7.5");
    expect(find("[data-testid=inspect-when]").textContent).toContain("at the stop, lane 1: call 2");
    expect(find("[data-testid=locals] h4").textContent).toContain("call 2");
  });

  it.each([
    ["the line comes later", [LOSS], { line: 22 }],
    ["it has another type", [{ ...LOSS, shape: [3] }], {}],
    ["its statistics are not taken", [{ ...LOSS, stats: null }], {}],
  ])("are not those of the frame where %s", (_, locals, about) => {
    standAt(locals, about);
    expect(isMarked("loss")).toBe(true);
    expect(texts(".value-range").join()).not.toContain("7.5");
  });

  it("have the slider of steps at the stop", () => {
    standAt([], { earlier: [3, 4] });
    expect(find("[data-testid=when]").textContent).toContain("call 2 · step 1 (stopped)");
  });

  it("stay if the program was ended there, until the stop is closed", () => {
    const { run } = standAt([LOSS], { earlier: [3, 4] });
    run.store.status = { ...(run.store.status as StatusMessage), state: "stopped" };
    stopAt(run, null);
    const shown = () => [of("loss").querySelector(".value-range")?.textContent, find("[data-testid=when]").textContent];
    expect(shown()).toEqual(["7.5", expect.stringContaining("call 2 · step 1 (stopped)")]);
    act(() => find("[aria-label='Close the stop']").click());
    expect(shown()).toEqual(["2.13", expect.not.stringContaining("stopped")]);
  });

  it("are the newest ones again when the program continues", () => {
    const { run } = standAt([LOSS]);
    stopAt(run, null);
    expect([isMarked("loss"), of("loss").querySelector(".value-range")?.textContent]).toEqual([false, "2.13"]);
    expect(find("[data-testid=locals] h4").textContent).toContain("call 2");
  });
});
