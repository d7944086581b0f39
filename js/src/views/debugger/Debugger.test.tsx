import { act } from "preact/test-utils";
import { describe, expect, it, vi } from "vitest";
import type { TestRun } from "../../../test/fakes";
import { goldenArray, goldenBatch, goldenStop } from "../../../test/golden";
import { all, change, click, find, press, showStop, status, stopAt, texts, type } from "../../../test/screen";
import type { Message } from "../../transport/wire";

function answer(run: TestRun, message: Partial<Message>): void {
  act(() => {
    run.answerDebugger(message);
    run.draw();
  });
}

const prompt = "[data-testid=prompt]";
const draw = (run: TestRun) => act(() => run.draw());
const label = (selector: string) => find(selector).textContent?.trim();
const isDisabled = (selector: string) => (find(selector) as HTMLButtonElement).disabled;

describe("a stop", () => {
  it("opens the debugger once, and is announced", () => {
    const { run, ui } = showStop();
    expect(ui.tab.value).toBe("source");
    expect(label("#tab-source .tab-alert")).toBe("paused");
    expect(label("[role=alert]")).toBe("Stopped at train.py:41: h is not finite: 1 NaN, 1 infinite");
    expect(find(".panel").dataset.stop).toBe("3");
    click("#tab-streams");
    stopAt(run, goldenStop({ frame: 1 }));
    expect(ui.tab.value).toBe("streams");
    stopAt(run, goldenStop({ id: 4 }));
    expect(ui.tab.value).toBe("source");
  });

  it("shows its reason, and its place in the program", () => {
    showStop({ thread: "Dummy-2", phase: "backward" });
    expect(label("[data-testid=reason]")).toBe("h is not finite: 1 NaN, 1 infinite");
    const facts = texts("[data-testid=facts] > span");
    expect(facts.slice(0, 7)).toEqual([
      "train.py:41",
      "h",
      "backward",
      "step 12",
      "cpu:0",
      "thread Dummy-2",
      "13 hits",
    ]);
  });

  it("warns, and shows when the program continues by itself", () => {
    vi.spyOn(performance, "now").mockReturnValue(0);
    const { run } = showStop({ warning: "A collective waits.", timeout: 90, since: 30 });
    expect(label(".debugger [role=note]")).toBe("A collective waits.");
    expect(label("[data-testid=deadline]")).toBe("goes on by itself in 1 min 0 s keep waiting");
    vi.spyOn(performance, "now").mockReturnValue(20_000);
    act(() => run.store.changed());
    draw(run);
    expect(label("[data-testid=deadline]")).toContain("in 40.0 s");
    click("[data-testid=deadline] button");
    expect(run.debugged.at(-1)).toEqual({ type: "here", stop: 3, keep: true });
  });

  it.each([
    ["c", "continue"],
    ["n", "next"],
    ["a", "all"],
    ["q", "quit"],
    ["F8", "continue"],
  ])("goes on with %s: %s", (key, how) => {
    const { run } = showStop();
    press(".debugger", key);
    expect(run.debugged).toEqual([{ type: "resume", stop: 3, how }]);
    draw(run);
    expect(label("[data-testid=reason]")).toBe("Running … This was the last stop.");
    expect(all("[data-resume]:enabled")).toHaveLength(0);
    press(".debugger", key);
    expect(run.debugged).toHaveLength(1);
  });

  it("remains if the kernel refuses to continue, and says why", () => {
    const { run } = showStop();
    click("[data-resume=continue]");
    answer(run, { type: "error", message: "Another stop is there." } as Message);
    expect(isDisabled("[data-resume=continue]")).toBe(false);
    expect(texts("[data-testid=notes] .note-text")).toEqual(["Another stop is there."]);
    expect(label("[data-testid=state]")).toBe("Paused");
  });

  it("stays visible when it is over", () => {
    const { run } = showStop();
    click("[data-resume=continue]");
    stopAt(run, null);
    expect(find(".debugger").dataset.stands).toBe("false");
    expect(all("[data-testid=frames] button")).toHaveLength(2);
    expect(all(".tab-alert")).toHaveLength(0);
    expect(isDisabled("[data-testid=prompt]")).toBe(true);
    change(run, goldenBatch("paused", { status: status({ state: "done" }) }));
    expect(label("[data-testid=reason]")).toBe("The run is over. This was the last stop.");
    change(run, goldenBatch("paused", { status: status({ state: "stopped" }) }));
    expect(label("[data-testid=reason]")).toBe("The program was ended. This was the last stop.");
    expect((find("[data-testid=prompt]") as HTMLTextAreaElement).placeholder).toBe("The program was ended");
    click("[aria-label='Close the stop']");
    expect(all(".debugger, .console")).toHaveLength(0);
  });

  it("is lost with the kernel", () => {
    const { run } = showStop();
    type("[data-testid=prompt]", "h");
    press("[data-testid=prompt]", "Enter");
    act(() => run.store.lose());
    draw(run);
    expect(label("[data-testid=reason]")).toContain("The kernel is gone, and with it the stopped program");
    expect(texts(".log .bad-text")).toEqual(["The kernel is gone."]);
    expect(label("[data-testid=state]")).toBe("Kernel gone");
  });

  it("of a stepped program offers steps, and lines to run to", () => {
    const { run } = showStop({ kind: "step", lanes: { sizes: [], chosen: [], stopped: null } });
    expect(all("[data-resume]").map((button) => button.dataset.resume)).toEqual([
      "step",
      "into",
      "out",
      "continue",
      "quit",
    ]);
    press(".debugger", "F11");
    expect(run.debugged.at(-1)).toEqual({ type: "resume", stop: 3, how: "into" });
    stopAt(run, goldenStop({ kind: "step", id: 4 }));
    click("[aria-label^='Run to line 42']");
    expect(run.debugged.at(-1)).toEqual({ type: "resume", stop: 4, how: "line", line: 42 });
    stopAt(run, goldenStop({ kind: "step", id: 5 }));
    press(".debugger", "F11", { shiftKey: true });
    expect(run.debugged.at(-1)).toEqual({ type: "resume", stop: 5, how: "out" });
    stopAt(run, goldenStop({ kind: "step", id: 6 }));
    press("[data-testid=code]", "Enter");
    expect(run.debugged.at(-1)).toEqual({ type: "resume", stop: 6, how: "line", line: 41 });
  });
});

describe("expressions", () => {
  const asked = (run: TestRun) => run.debugged.filter(({ type }) => type === "command");

  it("are evaluated now and at each stop, and are not in the history of commands", () => {
    const { run } = showStop();
    type("[aria-label='Evaluate at each stop']", "c");
    press("[aria-label='Evaluate at each stop']", "Enter");
    expect(asked(run)).toEqual([{ type: "command", stop: 3, text: "p c", quiet: true }]);
    answer(run, { type: "console", text: "Array(2.)", error: false } as Message);
    expect(label("[data-expression=c] .value")).toBe("Array(2.)");
    expect(all("[data-typed]")).toHaveLength(0);
    stopAt(run, goldenStop({ id: 4 }));
    expect(asked(run).at(-1)).toEqual({ type: "command", stop: 4, text: "p c", quiet: true });
    answer(run, { type: "console", text: "NameError: c", error: true } as Message);
    expect(label("[data-expression=c] .bad-text")).toBe("NameError: c");
    click("[data-expression=c] .close");
    stopAt(run, goldenStop({ id: 5 }));
    expect(asked(run)).toHaveLength(2);
  });
});

describe("the frames", () => {
  it("are selected with keys and clicks", () => {
    const { run } = showStop();
    expect(texts("[data-testid=frames] button")).toEqual(["loss_fn train.py:41", "<module> In [7]:12"]);
    expect(isDisabled("[aria-label='Frame below']")).toBe(true);
    press(".debugger", "u");
    expect(run.debugged.at(-1)).toEqual({ type: "frame", stop: 3, frame: 1 });
    stopAt(run, goldenStop({ frame: 1 }));
    expect(find("[data-testid=frames] [aria-pressed=true]").textContent).toContain("<module>");
    expect(label("[data-testid=locals]")).toContain("None in this frame.");
    press(".debugger", "d");
    expect(run.debugged.at(-1)).toEqual({ type: "frame", stop: 3, frame: 0 });
  });

  it("show their source with the current line marked", () => {
    showStop();
    expect(texts("[data-testid=code] .line-number")).toEqual(["40", "41", "42"]);
    expect(label(".source-row.now code")).toBe("h = jdw.breakpoint(h, when=~jnp.isfinite(h).all())");
    expect(texts("[data-testid=code] :is(.keyword, .definition)")).toEqual(["def", "loss_fn"]);
  });
});

describe("the locals", () => {
  it("show type, device, value and statistics, with text escaped", () => {
    showStop();
    expect(texts("[data-local=h] button > *")).toEqual([
      "h",
      "float32[3] · cpu:0",
      "Array([1., nan, inf], dtype=float32)",
      "1 … 1 · mean 1 · 1 nan · 1 infinite",
    ]);
    expect(all("[data-local=h] .bad-text")).toHaveLength(2);
    expect(texts("[data-local=name] button > *")).toEqual(["name", "str", "'größe <b>'"]);
    expect(isDisabled("[data-local=name] button")).toBe(true);
  });

  it("are plotted or shown as a picture, and requested again if they may have changed", () => {
    const { run } = showStop();
    click("[data-local=h] button");
    draw(run);
    const wanted = { type: "local", stop: 3, frame: 0, name: "h", index: [] };
    expect(run.debugged).toEqual([wanted]);
    answer(run, goldenArray("array", { rows: 1, columns: 3, pixels: Float32Array.of(1, Number.NaN, 2) }));
    expect(find(".lane-lines path").getAttribute("d")).toMatch(/^M0 [\d.]+h0M2 [\d.]+h0$/);
    click("[data-testid=local-array] .mini");
    draw(run);
    expect(all("[data-testid=heat-map]")).toHaveLength(1);
    stopAt(run, goldenStop({ lanes: { sizes: [4], chosen: [3], stopped: null } }));
    expect(run.debugged).toEqual([wanted, wanted]);
  });

  it("stay when the program continues if they were opened; others say that they were not opened", () => {
    const { run } = showStop();
    click("[data-local=h] button");
    draw(run);
    answer(run, goldenArray("array", { rows: 1, columns: 3, pixels: Float32Array.of(1, Number.NaN, 2) }));
    stopAt(run, null);
    draw(run);
    expect(all(".lane-lines path")).toHaveLength(1);
    const { run: other } = showStop();
    stopAt(other, null);
    draw(other);
    click("[data-local=h] button");
    draw(other);
    expect(label("[data-testid=local-array]")).toContain("these numbers were not opened");
    expect(other.debugged).toEqual([]);
  });

  it("with more than two axes are shown slice by slice", () => {
    const stop = goldenStop();
    const [frame] = stop.frames;
    const locals = (frame?.locals ?? []).map((local) => ({ ...local, shape: [5, 4, 90] }));
    const { run } = showStop({ frames: frame ? [{ ...frame, locals }] : [] });
    click("[data-local=h] button");
    draw(run);
    type("[data-testid=local-array] input", "3");
    draw(run);
    answer(run, goldenArray());
    expect(run.debugged.at(-1)).toMatchObject({ type: "local", index: [3] });
  });
});

describe("the lanes", () => {
  it("are chosen by number, or among those that stopped", () => {
    const { run } = showStop();
    expect(label("[data-testid=lane]")).toContain("2 stopped");
    expect(isDisabled("[aria-label='Previous lane that stopped']")).toBe(true);
    click("[aria-label='Next lane that stopped']");
    expect(run.debugged.at(-1)).toEqual({ type: "lane", stop: 3, lane: [3] });
    type("[aria-label=Lane]", "2");
    act(() => run.store.changed());
    draw(run);
    expect((find("[aria-label=Lane]") as HTMLInputElement).value).toBe("2");
    act(() => void find("[aria-label=Lane]").dispatchEvent(new Event("change", { bubbles: true })));
    expect(run.debugged.at(-1)).toEqual({ type: "lane", stop: 3, lane: [2] });
  });

  it("are hidden if nothing is vmapped", () => {
    showStop({ lanes: { sizes: [], chosen: [], stopped: null } });
    expect(all("[data-testid=lane]")).toHaveLength(0);
  });
});

describe("the console", () => {
  const enter = (text: string) => {
    type(prompt, text);
    press(prompt, "Enter");
  };
  const printed = (text: string, error = false) => ({ type: "console", stop: 3, text, error }) as Partial<Message>;

  it("runs what is typed and shows the result or the error", () => {
    const { run, ui } = showStop();
    enter("h.sum()");
    expect(run.debugged).toEqual([{ type: "command", stop: 3, text: "h.sum()" }]);
    expect(ui.draft.value).toBe("");
    draw(run);
    expect(texts(".log pre")).toEqual(["h.sum()", "…"]);
    answer(run, printed("Array(nan, dtype=float32)\n<b>"));
    enter("1/0");
    answer(run, printed("ZeroDivisionError: division by zero", true));
    expect(texts(".log pre")).toEqual([
      "h.sum()",
      "Array(nan, dtype=float32)\n<b>",
      "1/0",
      "ZeroDivisionError: division by zero",
    ]);
    expect(texts(".log .bad-text")).toEqual(["ZeroDivisionError: division by zero"]);
    expect(Number(find("[data-typed='1/0']").dataset.ms)).toBeGreaterThanOrEqual(0);
  });

  it("does not treat letters as shortcuts", () => {
    const { run } = showStop();
    press(prompt, "c");
    press(prompt, "q");
    expect(run.debugged).toEqual([]);
    enter("  ");
    expect(run.debugged).toEqual([]);
  });

  it("recalls what was typed", () => {
    const { run, ui } = showStop();
    for (const text of ["a", "b", "b"]) {
      enter(text);
      answer(run, printed(""));
    }
    for (const [key, text] of [
      ["ArrowUp", "b"],
      ["ArrowUp", "a"],
      ["ArrowUp", "a"],
      ["ArrowDown", "b"],
      ["ArrowDown", ""],
    ] as const) {
      press(prompt, key);
      expect(ui.draft.value).toBe(text);
    }
  });

  it("completes a name, and lists several candidates", () => {
    const { run, ui } = showStop();
    type(prompt, "f(🙂, jnp.is");
    press(prompt, "Tab");
    expect(run.debugged).toEqual([{ type: "complete", stop: 3, text: "f(🙂, jnp.is", cursor: 11 }]);
    answer(run, { type: "completions", start: 9, matches: ["isnan", "isneginf"] } as Partial<Message>);
    expect(ui.draft.value).toBe("f(🙂, jnp.isn");
    expect(texts("[data-testid=matches] button")).toEqual(["isnan", "isneginf"]);
    press(prompt, "ArrowDown");
    expect(find("[aria-selected=true].x, .matches [aria-selected=true]").textContent).toBe("isneginf");
    press(prompt, "Enter");
    expect(ui.draft.value).toBe("f(🙂, jnp.isneginf");
    expect(all("[data-testid=matches]")).toHaveLength(0);
    type(prompt, "h.ma");
    press(prompt, "Tab");
    answer(run, { type: "completions", start: 2, matches: ["max"] } as Partial<Message>);
    expect(ui.draft.value).toBe("h.max");
  });

  it("keeps what was typed meanwhile, and leaves the Tab key to the page if there is nothing to complete", () => {
    const { run, ui } = showStop();
    const tab = new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true });
    act(() => void find(prompt).dispatchEvent(tab));
    expect(tab.defaultPrevented).toBe(false);
    type(prompt, "is");
    press(prompt, "Tab");
    type(prompt, "isx");
    answer(run, { type: "completions", start: 0, matches: ["isnan"] } as Partial<Message>);
    expect(ui.draft.value).toBe("isx");
  });

  it("is entered with e and left with Escape", () => {
    showStop();
    press(".debugger", "e");
    expect(document.activeElement).toBe(find(prompt));
    press(prompt, "Escape");
    expect(document.activeElement).toBe(find(".debugger"));
  });
});

describe("a new value of a local", () => {
  it("is entered as an expression", () => {
    const { run } = showStop();
    type("[aria-label='Continue with another value of h: float32[3]']", "jnp.zeros(3)");
    press("[aria-label='Continue with another value of h: float32[3]']", "Enter");
    expect(run.debugged).toEqual([{ type: "command", stop: 3, text: "set jnp.zeros(3)" }]);
    answer(run, { type: "console", text: "h goes on as Array([0., 0., 0.])", error: false } as Partial<Message>);
    expect(texts(".log pre")).toEqual(["set jnp.zeros(3)", "h goes on as Array([0., 0., 0.])"]);
  });

  it("is offered only if the program accepts one", () => {
    showStop({ replaceable: null });
    expect(all("[aria-label^='Continue with another']")).toHaveLength(0);
  });
});

describe("a reloaded page", () => {
  const before = [
    { text: "p h", output: "Array(1.)", error: false },
    { text: "while True: pass", output: null, error: false },
  ];

  it("shows what was typed before, and recalls it", () => {
    const { run } = showStop();
    act(() => {
      run.store.debugger.recall(before);
      run.draw();
    });
    expect(texts(".log pre")).toEqual([
      "p h",
      "Array(1.)",
      "while True: pass",
      "It was running when this page was loaded.",
    ]);
    press(prompt, "ArrowUp");
    press(prompt, "ArrowUp");
    expect((find(prompt) as HTMLTextAreaElement).value).toBe("p h");
  });

  it("keeps its own log if it has one", () => {
    const { run } = showStop();
    type(prompt, "x");
    press(prompt, "Enter");
    act(() => {
      run.store.debugger.recall(before);
      run.draw();
    });
    expect(texts(".log pre")).toEqual(["x", "…"]);
  });
});

describe("the breakpoints", () => {
  it("are listed, switched and skipped", () => {
    const { run } = showStop();
    expect(texts("[data-testid=breakpoints] small")).toEqual([
      "train.py:41 · when nonfinite · 13 hits",
      "costs 3 values, 4.1 kB: computed in full up to here, and copied to the host where the condition holds",
      "0 hits",
    ]);
    click("[data-site='5'] [type=checkbox]");
    expect(run.debugged.at(-1)).toEqual({ type: "breakpoint", site: 5, enabled: false });
    type("[aria-label='Skip of train.py:50']", "7");
    press("[aria-label='Skip of train.py:50']", "Enter");
    expect(run.debugged.at(-1)).toEqual({ type: "breakpoint", site: 6, skip: 7 });
  });

  it("are explained if there are none", () => {
    const { ui } = showStop(null, { breakpoints: [] });
    act(() => {
      ui.tab.value = "source";
    });
    expect(texts("dt")).toContain("jax.debug.breakpoint()");
    expect(label(".nothing small")).toBe("The kernel answers clicks in the shell channel's thread.");
    expect(all("[data-testid=breakpoints]")).toHaveLength(0);
  });
});

describe("pause and stop", () => {
  it("are requested while the program runs, and shown as pending until they take effect", () => {
    const { run, ui } = showStop(null);
    click("[data-testid=pause]");
    expect(run.debugged).toEqual([{ type: "pause" }]);
    draw(run);
    expect(label("[data-testid=state]")).toBe("Pausing …");
    expect(isDisabled("[data-testid=pause]")).toBe(true);
    stopAt(run, goldenStop({ kind: "pause" }));
    expect(label("[data-testid=state]")).toBe("Paused");
    act(() => {
      ui.tab.value = "streams";
    });
    expect(label("[data-testid=pause]")).toBe("Resume");
    click("[data-testid=pause]");
    expect(run.debugged.at(-1)).toEqual({ type: "resume", stop: 3, how: "continue" });
    stopAt(run, null);
    click("[data-testid=halt]");
    draw(run);
    expect(run.debugged.at(-1)).toEqual({ type: "halt" });
    expect(label("[data-testid=state]")).toBe("Stopping …");
    change(run, goldenBatch("paused", { status: status({ state: "failed" }) }));
    expect(label("[data-testid=state]")).toBe("Failed");
  });

  it("end the program at a stop", () => {
    const { run, ui } = showStop();
    // While the bar of the stop has a Stop button, the header has none.
    expect(texts("button").filter((words) => words.startsWith("Stop"))).toEqual(["Stop q"]);
    act(() => {
      ui.tab.value = "streams";
    });
    click("[data-testid=halt]");
    expect(run.debugged).toEqual([{ type: "resume", stop: 3, how: "quit" }]);
  });

  it("are disabled if nothing can be paused", () => {
    showStop(null, { stoppable: false });
    expect(isDisabled("[data-testid=pause]")).toBe(true);
    expect(isDisabled("[data-testid=halt]")).toBe(true);
  });

  it("are reset if the kernel refuses", () => {
    const { run } = showStop(null);
    click("[data-testid=pause]");
    answer(run, { type: "error", message: "Nothing runs." } as Partial<Message>);
    expect(label("[data-testid=state]")).toBe("Running");
    expect(texts("[data-testid=notes] .note-text")).toEqual(["Nothing runs."]);
  });
});
