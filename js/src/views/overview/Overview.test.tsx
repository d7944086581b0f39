import { act } from "preact/test-utils";
import { describe, expect, it, vi } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { all, change, click, find, show, showTab, status, texts } from "../../../test/screen";
import type { Band } from "../../store/band";
import type { Series } from "../../store/series";
import { createUi } from "../../store/ui";
import type { CallMessage, FindingMessage } from "../../transport/wire";
import { drawnOf } from "../plots/drawn";
import { byName, type Scalar, scalarsOf } from "./contents";

const LOOK = { logarithmic: false, axis: "step", smoothing: 0, during: null, zoom: null, moment: null } as const;
const charts = () => all("[data-testid=lines]").map(({ dataset }) => [dataset.chart, dataset.lines]);

describe("the overview", () => {
  it("is the first view of the panel, with facts and the printed numbers, the loss first", () => {
    show(goldenBatch("small"));
    expect(find("[aria-selected=true]").id).toBe("tab-overview");
    expect(texts("[data-testid=facts] .fact-label")).toEqual(["Steps", "loss", "Compiled"]);
    expect(charts()[0]).toEqual(["loss", "1"]);
    expect(all("[data-testid=last-prints] .latest-row")).toHaveLength(5);
  });

  it("draws gradients and the spread of watched values, and shows where NaN was first", () => {
    const ui = createUi();
    const { store } = show(goldenBatch("watch"), ui);
    expect(charts()).toEqual([
      ["loss", "1"],
      ["Gradient norms", "1"],
      ["Std of values", "1"],
    ]);
    expect(texts("[data-chart='Gradient norms'] .legend-name")).toEqual(["logits"]);
    expect(find("[data-testid=fact-nan]").textContent).toContain("∂ logits");
    expect(texts("[data-chart='Gradient norms'] .legend-value")).toEqual(["nan"]);
    click("[data-testid=fact-nan]");
    expect([ui.tab.value, ui.value.value]).toEqual(["source", store.status?.first_nonfinite?.site]);
  });

  it("offers to show all steps again where the charts are zoomed", () => {
    const { ui } = showTab("overview", goldenBatch("watch"));
    expect(all("[data-testid=zoom-out]")).toEqual([]);
    act(() => {
      ui.zoom.value = [1, 2];
    });
    click("[data-testid=zoom-out]");
    expect([ui.zoom.value, all("[data-testid=zoom-out]").length]).toEqual([null, 0]);
  });

  it("takes a breakpoint for no print and no number", () => {
    const batch = goldenBatch("small");
    const [site] = batch.sites.filter(({ id }) => id === batch.events.site[0]);
    (site as { kind: string }).kind = "breakpoint";
    const { store } = show(batch);
    expect(store.series.has(site?.id ?? -1)).toBe(false);
    expect(all("[data-testid=last-prints] .latest-row").map(({ title }) => title)).not.toContainEqual(
      expect.stringContaining(`· ${site?.where}.`),
    );
  });

  it("counts the steps at which a number was not finite, too", () => {
    const batch = goldenBatch("nonfinite");
    batch.points.y.set([Number.NaN, Number.NaN], 4);
    show(batch);
    expect(find("[data-testid=fact-steps] .fact-value").textContent).toBe("6");
  });

  it("leads from a name to its value, and from a line to the streams", () => {
    const ui = createUi();
    show(goldenBatch("watch"), ui);
    click("[data-chart='Std of values'] .legend button");
    expect([ui.tab.value, ui.value.value]).toEqual(["source", 1]);
    show(goldenBatch("small"), createUi());
    click(".latest-row:last-child");
    expect(find("[aria-selected=true]").id).toBe("tab-streams");
    expect(find(".row.selected").dataset.event).toBe("4");
  });

  it("leads from all prints and all findings to their tabs", () => {
    const ui = createUi();
    const run = show(goldenBatch("small", { status: status({ findings: 2 }) }), ui);
    const findings = [1, 3].map((severity) => ({ kind: "keys", severity, where: "a.py:3", headline: "k", file: "" }));
    act(() => {
      run.answer({ type: "findings", version: 1, run: "run-1", id: 1, findings } as never);
      run.draw();
    });
    for (const [place, words, tab] of [
      ["worst", "all 2", "findings"],
      ["last-prints", "all 5", "streams"],
    ] as const) {
      expect(find(`[data-testid=${place}] .link`).textContent).toBe(words);
      click(`[data-testid=${place}] .link`);
      expect(ui.tab.value).toBe(tab);
      act(() => {
        ui.tab.value = "overview";
      });
    }
  });

  it("lists findings with a link to their lines, and does not request them if there are none", () => {
    const finding = {
      kind: "keys",
      severity: 1,
      where: "a.py:3",
      headline: "key `k` used twice",
      file: "a.py",
      line: 3,
    };
    const slow = { ...finding, kind: "lists", severity: 3, headline: "9 operands" };
    const run = show(goldenBatch("small"));
    expect(run.asked.filter((asked) => asked.startsWith("findings"))).toEqual([]);
    change(run, goldenBatch("small", { status: status({ findings: 1 }) }));
    act(() => {
      run.answer({ type: "findings", version: 1, run: "run-1", id: 1, findings: [finding, slow] as FindingMessage[] });
      run.draw();
    });
    // Wrong results are above the charts, other findings below them.
    expect(texts("[data-testid=worst] .latest-text")).toEqual(["key k used twice"]);
    expect(find("[data-testid=worst]").nextElementSibling?.className).toBe("chart-tools");
    expect(texts("[data-testid=latest-findings] .latest-text")).toEqual(["9 operands"]);
    expect(texts("[data-testid=latest-findings] header")).toEqual(["Other findingsall 2"]);
    expect(all(".severity").map((one) => one.getAttribute("aria-label"))).toEqual(["wrong", "slow"]);
    click("[data-testid=worst] .latest-row");
    expect(find("[aria-selected=true]").id).toBe("tab-findings");
  });

  it("shows the first NaN if only a check has found it", () => {
    const finding = { kind: "nonfinite", severity: 1, where: "a.py:3", lane: [2], file: "a.py" };
    const opened = (headline: string) => {
      const ui = createUi();
      const run = show(goldenBatch("small", { status: status({ findings: 1 }) }), ui);
      const findings = [{ ...finding, headline }] as FindingMessage[];
      act(() => {
        run.answer({ type: "findings", version: 1, run: "run-1", id: 1, findings });
        run.draw();
      });
      return ui;
    };
    opened("`log(NaN_OK)` is inf, lane 2");
    expect(texts("[data-testid=fact-nan] span")).toEqual(["First infinity", "log(NaN_OK)", "a.py:3, lane 2"]);
    const ui = opened("the derivative of `sqrt(x)` is NaN, lane 2");
    expect(texts("[data-testid=fact-nan] span")).toEqual(["First NaN", "sqrt(x)", "a.py:3, lane 2"]);
    click("[data-testid=fact-nan]");
    expect([ui.tab.value, ui.finding.value]).toEqual(["findings", "nonfinite"]);
  });

  it("draws numbers of one name in one chart, with a line for each place", () => {
    const batch = goldenBatch("watch");
    const [, loss, gradient] = batch.sites;
    const again = { ...loss, id: 3, where: "train.py:30", watch: loss?.watch, values: loss?.values };
    batch.sites[2] = again as (typeof batch.sites)[number];
    expect(gradient?.id).toBe(3);
    show(batch);
    expect(charts()[0]).toEqual(["loss", "2"]);
    expect(texts("[data-chart=loss] .legend-name")).toEqual(["train.py:22", "train.py:30"]);
  });

  it("draws the mean and the range of a loss that is vmapped, and says how many lanes are not finite", () => {
    const batch = goldenBatch("watch");
    const [lanes] = batch.sites;
    Object.assign(lanes?.watch ?? {}, { name: "loss", shape: [8], vmapped: [8] });
    batch.sites.splice(1, 1);
    const shown = (nan: number) => {
      // The number of NaNs in the second step.
      batch.points.y.set([nan], 25);
      const { store } = show(batch);
      const [one] = scalarsOf(store);
      return { series: one?.series as Series, fact: texts("[data-testid=fact-loss] span") };
    };
    const { series, fact } = shown(0);
    const band = series.first as Band;
    expect(charts()[0]).toEqual(["loss", "1"]);
    expect(find("[data-chart=loss] .lines-note").textContent).toBe("train.py:21, mean and range of 8 lanes");
    expect(fact).toEqual(["loss", "0.125 → 0.25", "train.py:21, mean of 8 lanes"]);
    const columns = [band.low, band.y, band.high].map((column) => [...column.view()]);
    expect(columns).toEqual([
      [-2.5, -2.25],
      [0.125, 0.25],
      [3, 2.75],
    ]);
    const odd = shown(2);
    expect(odd.fact).toEqual(["loss", "0.125 → 0.25", "train.py:21, mean of 8 lanes, 2 not finite"]);
    expect([...odd.series.marks.y.view()]).toEqual([Number.NaN]);
    // The line is not interrupted, because other lanes are finite.
    expect(drawnOf([odd.series], LOOK).curves.map(({ begins }) => begins.size)).toEqual([0]);
  });

  it("draws no gradient of a value with respect to itself", () => {
    const drawn = (y: number) => {
      const batch = goldenBatch("watch");
      const [, loss, gradient] = batch.sites;
      if (loss?.watch && gradient?.watch) [loss.watch.role, gradient.watch.role] = ["gradient", "value"];
      batch.points.y.set([y], 9);
      batch.points.y.set([y], 28);
      show(batch);
      return charts().map(([title]) => title);
    };
    expect(drawn(1)).not.toContain("Gradient norms");
    expect(drawn(2)).toContain("Gradient norms");
  });

  it("leads to the line of the worst finding, and from recompilations to their reason", () => {
    const at = { site: -1, event: -1, lane: [], lines: [], fix: [], followers: [], following: 0, why: "", advice: "" };
    const slow = { ...at, kind: "retraces", severity: 3, where: "train.py:8", headline: "again", file: "train.py" };
    const findings = [
      { ...slow, line: 8 },
      { ...slow, kind: "keys", severity: 1, line: 17 },
    ];
    const opened = () => {
      const ui = createUi();
      const run = show(goldenBatch("small", { status: status({ findings: 2 }) }), ui);
      const answer = () =>
        act(() => {
          run.answer({ type: "findings", version: 1, run: "run-1", id: 1, findings } as never);
          run.draw();
        });
      return { ui, answer };
    };
    const early = opened();
    click("[data-testid=fact-findings]");
    expect(early.ui.tab.value).toBe("findings");
    const { ui, answer } = opened();
    answer();
    click("[data-testid=fact-findings]");
    expect([ui.tab.value, ui.place.value?.line]).toEqual(["source", 17]);
    const compiled = opened();
    compiled.answer();
    click("[data-testid=fact-compiled]");
    expect([compiled.ui.tab.value, compiled.ui.finding.value]).toEqual(["findings", "retraces"]);
    compiled.answer();
    expect(compiled.ui.finding.value).toBe("");
  });

  it("lists the steps at which the condition of --when held, with links", () => {
    const { ui } = showTab("overview", goldenBatch("watch", { status: status({ when: "abs(logits).max() > 1" }) }));
    expect(find("[data-testid=hits] header").textContent).toContain("abs(logits).max() > 1");
    const hits = texts("[data-testid=hits] .latest-row");
    expect(hits[0]).toBe("call 1 · step 0logits -2.5 … 3");
    click("[data-testid=hits] .latest-row");
    expect([ui.tab.value, ui.value.value !== null, ui.moment.value !== null]).toEqual(["source", true, true]);
    show(goldenBatch("small", { status: status({ when: "loss > 1" }) }));
    expect(texts(".hits-none")).toEqual(["The condition was never true."]);
  });

  it("shows the cost of watching in a line that is no note, and confirms that the command is copied", async () => {
    const cost = "With 3 watched values (3.56 kB a step) programs take 1.5 times as long. It is an estimate.";
    show(goldenBatch("watch", { status: status({ cost, notes: [cost, "muted: x"] }) }));
    expect(find("[data-testid=cost] span").textContent).toBe(`${cost.split(". ")[0]}.`);
    expect(find("[data-testid=cost] span").title).toBe(cost);
    expect(texts("[data-testid=notes] .note-text")).toEqual(["muted: x"]);
    const writeText = vi.fn(async () => {});
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    await act(async () => click("[data-testid=cost] .link"));
    expect(writeText).toHaveBeenCalledWith("%jaxdebug verify F(X)");
    await vi.waitFor(() => expect(texts("[data-testid=cost] .link")).toEqual(["copied: %jaxdebug verify F(X)"]));
    vi.unstubAllGlobals();
  });

  it("copies the run as Markdown, with its picture on request", async () => {
    const run = show(goldenBatch("small"));
    const written: string[] = [];
    vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => void written.push(text) } });
    click("[data-testid=report] .link:last-of-type");
    expect(run.asked.at(-1)).toContain('"picture":true');
    await act(async () => run.answer({ type: "report", version: 1, run: "run-1", id: 1, text: "# step" }));
    expect([written, find("[data-testid=report]").textContent]).toEqual([
      ["# step"],
      expect.stringContaining("copied"),
    ]);
    vi.unstubAllGlobals();
  });

  it("says what to write if there is nothing to draw", () => {
    const run = show(goldenBatch("empty", { status: status({ state: "running", events: 0 }) }));
    for (const line of ["%%jaxdebug --watch-all", "%%jaxdebug --check all"]) {
      expect(find("[data-testid=nothing-drawn]").textContent).toContain(line);
      expect(find(`[data-testid=nothing-drawn] button[title="Copy ${line}"]`).textContent).toBe("Copy");
    }
    expect(find("[data-testid=nothing-drawn] strong").textContent).toBe("No number yet");
    vi.useFakeTimers();
    change(run, goldenBatch("empty", { status: status({ events: 0 }) }));
    act(() => {
      vi.advanceTimersByTime(300);
    });
    expect(find("[data-testid=nothing-drawn] strong").textContent).toBe("No number to draw");
    vi.useRealTimers();
  });

  it("gives no advice to watch where the cell watches", () => {
    const run = show(goldenBatch("empty", { status: status({ state: "running", events: 0, watches: true }) }));
    expect(find("[data-testid=nothing-drawn]").textContent).toBe(
      "No number yetThe first values come when a compiled function runs.",
    );
    vi.useFakeTimers();
    change(run, goldenBatch("empty", { status: status({ events: 0, watches: true }) }));
    act(() => {
      vi.advanceTimersByTime(300);
    });
    expect(find("[data-testid=nothing-drawn]").textContent).not.toContain("--watch-all");
    vi.useRealTimers();
  });

  it("gives no advice to check where checks have found nothing", () => {
    show(goldenBatch("empty", { status: status({ events: 0, checked: "All checks" }) }));
    const words = find("[data-testid=nothing-drawn]").textContent;
    expect([words?.includes("--watch-all"), words?.includes("--check")]).toEqual([true, false]);
  });

  it("does not advise to watch values if the program has failed", () => {
    show(goldenBatch("empty", { status: status({ state: "failed", events: 0 }) }));
    expect(find("[data-testid=nothing-drawn]").textContent).toBe(
      "No number to drawThe program failed before it gave one.",
    );
  });

  it("says that JAX compiles while no program has run, and gives no advice yet", () => {
    const [call] = goldenBatch("small").calls;
    const calls = [{ ...call, state: "tracing", dispatched: null, ready: null, drained: null } as CallMessage];
    show(goldenBatch("empty", { calls, status: status({ state: "running", events: 0 }) }));
    expect(find("[data-testid=nothing-drawn]").textContent).toBe(
      "No number yetJAX is tracing and compiling. The first numbers come when the program runs.",
    );
  });

  it("counts what JAX compiles outside jit while it compiles", () => {
    const run = show(goldenBatch("empty", { status: status({ state: "running", events: 0, apart: [23, 7.8] }) }));
    const text = () => find("[data-testid=nothing-drawn]").textContent;
    expect(text()).toContain("JAX compiles operations outside jit: 23 so far, in 7.80 s.");
    vi.useFakeTimers();
    change(run, goldenBatch("empty", { status: status({ events: 0, apart: [23, 7.8] }) }));
    act(() => {
      vi.advanceTimersByTime(300);
    });
    vi.useRealTimers();
    expect(text()).toContain("%%jaxdebug --watch-all");
  });

  it("is drawn a few times a second during a run", () => {
    vi.useFakeTimers();
    const received = () => Number(find("[data-testid=last-prints] .link").textContent?.slice(4));
    const running = { status: status({ state: "running" }) };
    const run = show(goldenBatch("small", running));
    expect(received()).toBe(5);
    change(run, goldenBatch("small", { first: 5, ...running }));
    expect(received()).toBe(10);
    change(run, goldenBatch("small", { first: 10, ...running }));
    expect(received()).toBe(10);
    act(() => {
      vi.advanceTimersByTime(300);
    });
    expect(received()).toBe(15);
    vi.useRealTimers();
  });
});

it("what a loop returns is no line beside those of its steps", () => {
  const of = (where: string, total: number) => ({ name: "c", where, series: { total } }) as Scalar;
  const linesOf = (...scalars: Scalar[]) => byName(scalars).map(({ lines }) => lines.map(({ name }) => name));
  expect(linesOf(of("a.py:7", 35), of("a.py:10", 1))).toEqual([["c"]]);
  expect(linesOf(of("a.py:7", 1), of("a.py:10", 1))).toEqual([["a.py:7", "a.py:10"]]);
});
