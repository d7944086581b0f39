import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it, vi } from "vitest";
import { TestRun } from "../../../test/fakes";
import { goldenBatch } from "../../../test/golden";
import { createUi, type UiState } from "../../store/ui";
import type { Batch, StatusMessage } from "../../transport/wire";
import { Panel } from "./Panel";

vi.mock("uplot", async (original) => (await import("../../../test/uplot")).fakeUplot(original));

const host = document.createElement("div");
document.body.append(host);
afterEach(() => render(null, host));

function show(batch: Batch, ui: UiState = createUi()): TestRun {
  const run = new TestRun();
  run.store.apply(batch);
  act(() => render(<Panel run={run.store} ui={ui} dark={signal(false)} />, host));
  return run;
}

function change(run: TestRun, batch: Batch): void {
  act(() => {
    run.store.apply(batch);
    run.draw();
  });
}

function find(selector: string): HTMLElement {
  const found = host.querySelector<HTMLElement>(selector);
  if (!found) throw new Error(`no ${selector} in ${host.innerHTML}`);
  return found;
}

function texts(selector: string): string[] {
  return [...host.querySelectorAll(selector)].map((element) => element.textContent ?? "");
}

function click(selector: string): void {
  act(() => find(selector).click());
}

function press(selector: string, key: string): void {
  act(() => {
    find(selector).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  });
}

function status(changes: Partial<StatusMessage>): StatusMessage {
  return { ...goldenBatch("small").status, ...changes };
}

const PENDING = { state: "pending", pending: ["step"], waited: 0, timeout: 30 };

describe("the panel", () => {
  it("carries the numbers that a test reads", () => {
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
    const run = show(goldenBatch("small"));
    change(run, goldenBatch("small", { first: 5, status: status({ state: "running" }) }));
    expect(find(".panel").dataset.events).toBe("10");
    expect(find("[data-testid=state]").textContent).toBe("Running");
    expect(texts("[data-testid=stream-ordered] .text")).toHaveLength(6);
    expect(texts("[data-testid=stream-ordered] .stream-count")).toEqual(["6"]);
  });

  it("says what the kernel wants said", () => {
    show(goldenBatch("small", { status: status({ notes: ["muted: x"] }) }));
    expect(texts("[data-testid=notes] li")).toEqual(["muted: x"]);
  });
});

describe("the header", () => {
  it("shows what is dropped", () => {
    show(goldenBatch("dropped"));
    expect(find(".header .bad-text").textContent).toBe("1\u2009000 dropped");
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
    expect(texts("[data-testid=notes] li")).toEqual(["The barrier timed out."]);
  });

  it("says that the kernel is gone", () => {
    const run = show(goldenBatch("small", { status: status({ state: "running" }) }));
    act(() => {
      run.store.lose();
      run.draw();
    });
    expect(find("[data-testid=state]").textContent).toBe("Kernel gone");
  });
});

describe("the life strip", () => {
  it("is the barrier's status in words", () => {
    show(goldenBatch("small"));
    expect(texts(".stage")).toEqual([
      "traced 0.21 s",
      "lowered 40 ms",
      "compiled 0.83 s",
      "ran 0.52 s",
      "outputs ready ",
      "effects drained 50 ms later",
    ]);
  });

  it("shows the newest call, or the one chosen", () => {
    const [call] = goldenBatch("small").calls;
    if (!call) throw new Error("the case has a call");
    const calls = [1, 2, 3].map((id) => ({ ...call, id, compile: id / 10 }));
    show(goldenBatch("small", { calls }));
    expect(find(".chooser").textContent).toContain("call 3 of 3");
    click("[aria-label='Earlier call']");
    expect(find(".chooser").textContent).toContain("call 2 of 3");
    expect(texts(".stage")).toContain("compiled 0.20 s");
  });

  it("tells a screen reader, a while after it changed", () => {
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
  it("are moved along with the arrow keys", () => {
    show(goldenBatch("small"));
    press("#tab-streams", "ArrowRight");
    expect(find("[aria-selected=true]").id).toBe("tab-plots");
    press("#tab-plots", "ArrowLeft");
    press("#tab-streams", "ArrowLeft");
    expect(find("[aria-selected=true]").id).toBe("tab-calls");
    expect(texts("[role=tab][tabindex='0']")).toHaveLength(1);
  });
});

describe("the streams", () => {
  it("show text as text", () => {
    show(goldenBatch("unicode"));
    expect(texts(".text")).toContain("🙂 <b>not html</b>");
    expect(host.querySelector(".text b")).toBeNull();
  });

  it("leave the room to the stream that has sites", () => {
    show(goldenBatch("unicode"));
    expect(find("[data-testid=stream-ordered]").className).toContain("slim");
    expect(find("[data-testid=stream-unordered]").className).not.toContain("slim");
  });

  it("mark what is not finite", () => {
    show(goldenBatch("nonfinite"));
    expect(texts(".text mark")).toEqual(["nan", "inf", "-inf"]);
    expect(texts(".phase-backward").length).toBeGreaterThan(0);
  });

  it("open a text of several lines below", () => {
    show(goldenBatch("small"));
    expect(find(".expander").textContent).toBe("⏎ 2 lines");
    click(".expander");
    expect(find("[data-testid=detail] pre").textContent).toBe("x [1. 2.]\n  [3. 4.]");
    click(".close");
    expect(host.querySelector("[data-testid=detail]")).toBeNull();
  });

  it("move the selection with the arrow keys", () => {
    show(goldenBatch("small"));
    press("[data-testid=stream-ordered] .viewport", "ArrowUp");
    press("[data-testid=stream-ordered] .viewport", "ArrowUp");
    expect(find(".row.selected .text").textContent).toBe("loss 1.25");
  });

  it("show the events of a chosen site only, and where it is", () => {
    show(goldenBatch("small"));
    click("[data-site='2']");
    expect(texts("[data-testid=stream-ordered] .row")).toEqual([]);
    expect(texts("[data-testid=stream-unordered] .row")).toHaveLength(2);
    expect(find("[data-testid=detail]").textContent).toContain('jax.debug.print("x {}", x, ordered=False)');
    click("[data-site='2']");
    expect(texts("[data-testid=stream-ordered] .row")).toHaveLength(3);
  });

  it("are filtered by what is typed", () => {
    const ui = createUi();
    show(goldenBatch("small"), ui);
    act(() => {
      ui.filter.value = "/0\\.6/";
    });
    expect(texts("[data-testid=stream-ordered] .text")).toEqual(["loss 0.625"]);
    expect(find(".stream-count").textContent).toBe("1 of 3");
    expect(texts("[data-testid=stream-unordered] .empty")).toEqual(["No line matches."]);
  });

  it("name the gap and ask for the lines that are missing", () => {
    show(goldenBatch("dropped"));
    expect(texts(".row.gap")).toEqual(["1\u2009000 events dropped"]);
    const run = show(goldenBatch("large", { texts: new Map() }));
    expect(run.asked).toEqual(["rows 9800 200"]);
    expect(texts(".text")[0]).toBe("…");
  });

  it("hold few rows of many", () => {
    show(goldenBatch("large"));
    expect(find("[data-testid=stream-ordered]").dataset.rows).toBe("5000");
    expect(texts(".row").length).toBeLessThan(100);
  });

  it("say why they are empty", () => {
    show(goldenBatch("empty", { status: status({ state: "running" }) }));
    expect(find(".empty").textContent).toContain("Nothing has fired yet");
    show(goldenBatch("empty"));
    expect(find(".empty").textContent).toContain("Nothing fired in this run");
  });
});

describe("the plots", () => {
  it("have one chart for each series, with its number of points", () => {
    const ui = createUi();
    ui.tab.value = "plots";
    const run = show(goldenBatch("small"), ui);
    expect(find("[data-testid=plot]").dataset).toMatchObject({ series: "loss", points: "3" });
    change(run, goldenBatch("small", { first: 5 }));
    expect(find("[data-testid=plot]").dataset.points).toBe("6");
    expect(find(".plot output").textContent).toBe("0.625");
  });

  it("name the value of the site, and say when lanes are too many", () => {
    const ui = createUi();
    ui.tab.value = "plots";
    show(goldenBatch("nonfinite"), ui);
    expect(find("[data-testid=plot]").dataset).toMatchObject({ series: "g", points: "6" });
    show(goldenBatch("lanes"), ui);
    expect(texts(".plot-where")).toEqual(["train.py:8 · 3 lanes", "train.py:9 · many lanes, lane 0 drawn"]);
  });

  it("switch to a logarithmic axis", () => {
    const ui = createUi();
    ui.tab.value = "plots";
    show(goldenBatch("small"), ui);
    click(".log-toggle");
    expect([...ui.logarithmic.value]).toEqual(["1/0"]);
    expect(find(".log-toggle").getAttribute("aria-pressed")).toBe("true");
  });

  it("say why they are empty", () => {
    const ui = createUi();
    ui.tab.value = "plots";
    show(goldenBatch("unicode"), ui);
    expect(find(".empty").textContent).toContain("No scalars in this run");
  });
});

describe("the calls", () => {
  it("are a table in which failures stand out", () => {
    const ui = createUi();
    ui.tab.value = "calls";
    show(goldenBatch("nonfinite"), ui);
    expect(texts("thead th")[0]).toBe("call");
    expect(texts("tbody tr.failed td.error")).toEqual(["FloatingPointError: nan in g"]);
  });

  it("choose whose life is shown", () => {
    const ui = createUi();
    ui.tab.value = "calls";
    show(goldenBatch("small"), ui);
    expect(texts("tbody tr td")).toEqual([
      "1",
      "drained",
      "0.21 s",
      "40 ms",
      "0.83 s",
      "0.52 s",
      "drained 50 ms",
      "5",
      "",
    ]);
    click("tbody button");
    expect(ui.call.value).toBe(1);
  });

  it("say why they are empty", () => {
    const ui = createUi();
    ui.tab.value = "calls";
    show(goldenBatch("empty"), ui);
    expect(find(".empty").textContent).toContain("No call in this run");
  });
});
