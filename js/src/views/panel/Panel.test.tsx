import { act } from "preact/test-utils";
import { describe, expect, it, vi } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { all, change, click, find, press, show, showStreams, showTab, status, texts, type } from "../../../test/screen";
import { createUi, type UiState } from "../../store/ui";
import type { CallMessage } from "../../transport/wire";

const NOTES = "[data-testid=notes] .note-text";
const PENDING = { state: "pending", pending: ["step"], waited: 0, timeout: 30, waits: [] };

describe("the panel", () => {
  it("has the attributes that tests read", () => {
    show(goldenBatch("small"));
    expect(find(".panel").dataset).toMatchObject({
      run: "run-1",
      state: "done",
      events: "5",
      ordered: "3",
      unordered: "2",
      dropped: "0",
      barrier: "drained",
      batches: "1",
      calls: "1",
      sites: "2",
    });
    expect(Number(find(".panel").dataset.latencyMs)).toBeTypeOf("number");
  });

  it("draws again when the run changes", () => {
    const run = showStreams(goldenBatch("small"));
    change(run, goldenBatch("small", { first: 5, status: status({ state: "running" }) }));
    expect(find(".panel").dataset.events).toBe("10");
    expect(find("[data-testid=state]").textContent).toBe("Running");
    expect(texts("[data-testid=stream-ordered] .text")).toHaveLength(6);
    expect(texts("[data-testid=stream-ordered] .stream-count")).toEqual(["6"]);
  });

  it("shows the notes of the kernel", () => {
    show(goldenBatch("small", { status: status({ notes: ["muted: x"] }) }));
    expect(texts(NOTES)).toEqual(["muted: x"]);
  });

  it("writes code in a note as code", () => {
    show(goldenBatch("small", { status: status({ notes: ["add `--values` to it"] }) }));
    expect([texts(NOTES), texts(`${NOTES} code`)]).toEqual([["add --values to it"], ["--values"]]);
  });

  it("opens a note and dismisses it, and the focus stays near", () => {
    const notes = ["muted: x", "muted: y"];
    const run = show(goldenBatch("small", { status: status({ notes }) }));
    const complain = () =>
      act(() => {
        run.store.complain("The barrier timed out.");
        run.draw();
      });
    const isOpen = () => all(NOTES).map((note) => note.getAttribute("aria-expanded"));
    click(NOTES);
    expect(isOpen()).toEqual(["true", "false"]);
    complain();
    click("[aria-label='Dismiss: muted: x']");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Dismiss: muted: y");
    click("[aria-label='Dismiss: muted: y']");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Dismiss: The barrier timed out.");
    click("[aria-label='Dismiss: The barrier timed out.']");
    expect(document.activeElement?.id).toBe("tab-overview");
    change(run, goldenBatch("small", { status: status({ notes: [...notes, "muted: z"] }) }));
    expect(texts(NOTES)).toEqual(["muted: z"]);
    complain();
    expect(texts(NOTES)).toEqual(["The barrier timed out.", "muted: z"]);
  });
});

describe("the header", () => {
  it("shows what is dropped", () => {
    show(goldenBatch("dropped"));
    expect(find(".header .bad-text").textContent).toBe(" · 1\u2009000 dropped");
    show(goldenBatch("small"));
    expect(find(".header .numbers").textContent).not.toContain("dropped");
  });

  it("counts the hits of breakpoints as the list of them does, not each lane", () => {
    const { breakpoints } = goldenBatch("paused").status;
    const batch = goldenBatch("small", { status: status({ breakpoints }) });
    show({ ...batch, sites: batch.sites.map((site) => ({ ...site, kind: "breakpoint" })) });
    expect(find(".header .numbers").textContent).toContain("13 breakpoint hits");
  });

  it("asks for the barrier only while effects are pending", () => {
    show(goldenBatch("small"));
    expect(find("[data-testid=barrier]")).toHaveProperty("disabled", true);
    const run = show(goldenBatch("small", { status: status({ state: "waiting", barrier: PENDING }) }));
    click("[data-testid=barrier]");
    expect(run.asked).toContain("barrier");
    act(() => run.draw());
    expect(find("[data-testid=barrier]")).toHaveProperty("disabled", true);
    act(() => {
      run.store.settleBarrier("The barrier timed out.");
      run.draw();
    });
    expect(find("[data-testid=barrier]")).toHaveProperty("disabled", false);
    expect(texts(NOTES)).toEqual(["The barrier timed out."]);
  });

  it.each([
    ["stopped", "Stopped"],
    ["interrupted", "Interrupted"],
    ["failed", "Failed"],
  ])("tells what the user ended from what failed: %s", (state, words) => {
    vi.useFakeTimers();
    const [call] = goldenBatch("small").calls;
    const calls = [{ ...call, state, ready: null, error: "at train.py:41" } as CallMessage];
    const { ui } = showTab("calls", goldenBatch("small", { status: status({ state }), calls }));
    expect(find("[data-testid=state]").textContent).toBe(words);
    expect(find("[data-testid=state]").className).toBe(`state ${state}`);
    const tone = state === "failed" ? ["bad", "failed"] : ["ended", "ended"];
    expect([all(`.stage.${tone[0]}`).length, all(`tr.${tone[1]}`).length]).toEqual([1, 1]);
    act(() => {
      vi.advanceTimersByTime(2100);
    });
    expect(find("[role=status]").textContent).toContain(`${words}. Call step:`);
    act(() => {
      ui.tab.value = "timeline";
    });
    expect(all(`.span.flight.${tone[0]}`)).toHaveLength(1);
    vi.useRealTimers();
  });

  it("disables controls that have no effect any more, and says why", () => {
    const why = () => ["pause", "halt", "barrier"].map((id) => [isDisabled(id), find(`[data-testid=${id}]`).title]);
    const isDisabled = (id: string) => (find(`[data-testid=${id}]`) as HTMLButtonElement).disabled;
    const run = showStreams(goldenBatch("small", { status: status({ state: "running" }) }));
    expect(why().map(([disabled]) => disabled)).toEqual([false, false, true]);
    expect(find("[data-mute]").title).toBe("Recorded. Mute it from now on");
    change(run, goldenBatch("small", { status: status({ state: "waiting", stoppable: false, barrier: PENDING }) }));
    expect(why()[0]).toEqual([true, "The program has returned: only prints and callbacks can still arrive"]);
    expect(isDisabled("barrier")).toBe(false);
    change(run, goldenBatch("small"));
    expect(why()).toEqual(Array(3).fill([true, "The run is over"]));
    expect(find("[data-mute]").title).toBe("Recorded. Mute it in later runs of its program");
    act(() => {
      run.store.lose();
      run.draw();
    });
    expect(why()).toEqual(Array(3).fill([true, "The kernel is gone"]));
    for (const control of all("[data-mute], [data-every]")) {
      expect([control.hasAttribute("disabled"), control.title]).toEqual([true, "The kernel is gone"]);
    }
  });

  it("says that the kernel is gone", () => {
    const run = show(goldenBatch("small", { status: status({ state: "running" }) }));
    act(() => {
      run.store.lose();
      run.draw();
    });
    expect(find("[data-testid=state]").textContent).toBe("Kernel gone");
    expect(texts(NOTES)[0]).toContain("run the cell again");
  });
});

describe("what is not finite", () => {
  const moved = ({ tab, event, moment }: UiState) => [tab.value, event.value, moment.value];

  it("is counted, and a click or a key jumps to the first, whatever is filtered", () => {
    const ui = createUi();
    const run = show(goldenBatch("nonfinite"), ui);
    expect(find("[data-testid=non-finite]").textContent).toBe("1 NaN, 2 ∞");
    expect(find("[data-testid=non-finite]").title).toContain("Go to the first NaN or infinite value (!)");
    act(() => {
      [ui.tab.value, ui.filter.value, ui.onlyCall.value] = ["calls", "no such line", 7];
    });
    click("[data-testid=non-finite]");
    expect(moved(ui)).toEqual(["streams", 1, 1]);
    expect(find(".row.selected").dataset.event).toBe("1");
    expect(find("[data-testid=scrubber]").dataset.moment).toBe("1");
    press(".tab", "l");
    press(".tab", "2");
    press(".tab", "!");
    expect(moved(ui)).toEqual(["streams", 1, 1]);
    change(run, goldenBatch("nonfinite", { oldest: 3 }));
    expect(find("[data-testid=non-finite]")).toHaveProperty("disabled", true);
  });

  it("is shown where a watched value was computed", () => {
    const ui = createUi();
    const { store } = show(goldenBatch("watch"), ui);
    press(".tab", "!");
    expect(moved(ui)).toEqual(["source", null, store.status?.first_nonfinite?.event]);
    expect(all(".value.chosen, [data-testid=inspect]").length).toBeGreaterThan(0);
  });

  it("is hidden if all values are finite", () => {
    const ui = createUi();
    show(goldenBatch("small"), ui);
    expect(all("[data-testid=non-finite]")).toHaveLength(0);
    press(".tab", "!");
    expect(moved(ui)).toEqual([null, null, null]);
  });
});

describe("the life strip", () => {
  it("is opened by the dot, and describes the state of the barrier", () => {
    show(goldenBatch("small"));
    expect(texts(".stage")).toEqual([]);
    click("[data-testid=state]");
    expect(texts(".stage")).toEqual([
      "traced 0.21 s",
      "lowered 40 ms",
      "compiled 0.83 s",
      "dispatched ",
      "ran 0.52 s",
      "outputs ready ",
      "effects arrived 50 ms later",
    ]);
    click("[data-testid=state]");
    expect(texts(".stage")).toEqual([]);
  });

  it("opens by itself if effects are pending for long, or something is wrong", () => {
    const [call] = goldenBatch("small").calls as [CallMessage];
    const running = status({
      state: "running",
      elapsed: call.started + 0.2,
      barrier: { ...PENDING, state: "pending" },
    });
    const pending = { ...call, ready: null, drained: null, state: "dispatched" };
    const run = show(goldenBatch("small", { status: running, calls: [pending] }));
    expect(all(".stage")).toEqual([]);
    change(run, goldenBatch("small", { status: { ...running, elapsed: call.started + 0.8 }, calls: [pending] }));
    expect(all(".stage")).toEqual([]);
    change(run, goldenBatch("small", { status: { ...running, elapsed: call.started + 2 }, calls: [pending] }));
    expect(texts(".stage.now b")).toEqual(["running"]);
    change(run, goldenBatch("small", { calls: [call] }));
    expect(all(".stage")).toEqual([]);
    change(run, goldenBatch("small", { calls: [{ ...call, error: "nan at train.py:3", state: "failed" }] }));
    expect(texts(".stage.bad span")).toEqual(["nan at train.py:3"]);
  });

  it("shows the newest call, or the one chosen", () => {
    const [call] = goldenBatch("small").calls;
    if (!call) throw new Error("the case has a call");
    const calls = [1, 2, 3].map((id) => ({ ...call, id, compile: id / 10 }));
    show(goldenBatch("small", { calls }));
    click("[data-testid=state]");
    expect(find(".chooser").textContent).toContain("call 3 · 3 in all");
    click("[aria-label='Earlier call']");
    expect(find(".chooser").textContent).toContain("call 2 · 3 in all");
    expect(texts(".stage")).toContain("compiled 0.20 s");
  });

  it("does not wait for a call if calls cannot be seen", () => {
    show(goldenBatch("empty", { status: status({ state: "running", captured: false }) }));
    expect(find(".life").textContent).toBe(
      "This program was compiled outside a capture: only its breakpoints are recorded.",
    );
    const { run } = showTab("calls", goldenBatch("empty", { status: status({ state: "running", captured: false }) }));
    expect(find(".empty").textContent).toContain("Under %%jaxdebug");
    change(run, goldenBatch("empty", { status: status({ state: "running" }) }));
    expect(all(".life")).toEqual([]);
    click("[data-testid=state]");
    expect(find(".life").textContent).toContain("No call yet");
  });

  it("is announced to screen readers with a delay", () => {
    vi.useFakeTimers();
    show(goldenBatch("small"));
    act(() => {
      vi.advanceTimersByTime(2100);
    });
    expect(find("[role=status]").textContent).toContain("Call step: traced 0.21 s");
    vi.useRealTimers();
  });
});

describe("the tabs", () => {
  it("are navigated with the arrow keys", () => {
    show(goldenBatch("small"));
    expect(find("[aria-selected=true]").id).toBe("tab-overview");
    press("#tab-overview", "ArrowRight");
    expect(find("[aria-selected=true]").id).toBe("tab-streams");
    press("#tab-streams", "ArrowLeft");
    press("#tab-overview", "ArrowLeft");
    expect(find("[aria-selected=true]").id).toBe("tab-program");
    expect(texts("[role=tab][tabindex='0']")).toHaveLength(1);
  });

  it("are those with content in this run", () => {
    show(goldenBatch("lanes"));
    expect(texts("[role=tab]").map((name) => name.replace(/\d+$/, ""))).toEqual([
      "Overview",
      "Prints",
      "Code",
      "Timeline",
      "Calls",
      "Program",
    ]);
    show(goldenBatch("lanes", { status: status({ findings: 1 }) }));
    expect(all("[role=tab]")).toHaveLength(7);
  });
});

describe("the keys", () => {
  it("open views, and their own list", () => {
    const ui = createUi();
    show(goldenBatch("small"), ui);
    press(".tab", "4");
    expect(ui.tab.value).toBe("timeline");
    press(".tab", "?");
    expect(find("[data-testid=keys]").textContent).toContain("live: back to the newest step");
    click("[data-testid=keys] .close");
    expect(all("[data-testid=keys]")).toHaveLength(0);
  });

  it("have no effect in text fields or with a modifier", () => {
    const ui = createUi();
    showStreams(goldenBatch("small"), ui);
    press(".filter", "m");
    press(".tab", "m", { ctrlKey: true });
    expect(ui.merged.value).toBe(false);
    press(".tab", "m");
    expect(ui.merged.value).toBe(true);
  });

  it("go back through the run and return to live", () => {
    const ui = createUi();
    show(goldenBatch("small"), ui);
    for (const moment of [3, 2]) {
      press(".tab", ",");
      expect(ui.moment.value).toBe(moment);
    }
    press(".tab", "<");
    expect(ui.moment.value).toBe(0);
    press(".tab", "l");
    expect(ui.moment.value).toBeNull();
  });

  it("clear the selection", () => {
    const ui = createUi();
    show(goldenBatch("small"), ui);
    act(() => {
      [ui.site.value, ui.onlyCall.value, ui.event.value] = [1, 1, 0];
    });
    press(".tab", "Escape");
    expect([ui.site.value, ui.onlyCall.value, ui.event.value]).toEqual([null, null, null]);
  });
});

describe("the scrubber", () => {
  it("moves all views from step to step of the prints", () => {
    const ui = createUi();
    show(goldenBatch("small"), ui);
    expect(find("[data-testid=when]").textContent).toBe("call 1 · step 2 · 3 of 3");
    type(".track input", "1");
    // The print of `x` in the same iteration is included.
    expect(ui.moment.value).toBe(3);
    expect(find(".track input").getAttribute("aria-valuetext")).toBe("call 1 · step 1 · 2 of 3");
    click("[data-testid=live]");
    expect(ui.moment.value).toBeNull();
  });
});
