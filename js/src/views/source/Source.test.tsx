import { act } from "preact/test-utils";
import { describe, expect, it, vi } from "vitest";
import { golden, goldenArray, goldenBatch, goldenStop } from "../../../test/golden";
import { all, change, click, find, press, show, showTab, status, stopAt, texts, type } from "../../../test/screen";
import { createUi } from "../../store/ui";
import { WatchTable } from "../../store/watched";
import type { FrameMessage } from "../../transport/stops";
import { decode, type Source } from "../../transport/wire";
import { pathsOf } from "./Spark";

const CODE = [
  "def step(w, x, b):",
  '    """Not a loop: for."""',
  ...Array(18).fill(""),
  "    logits = w.dot(x) + b",
  "    loss = w.dot(x) + b",
];

/** Shows the golden run. Its lines 21 and 22 are in a file that has arrived. */
function open(batch = goldenBatch("watch")) {
  const shown = showTab("source", batch);
  const { content } = golden("source");
  const source = decode({ ...content, lines: CODE, functions: [{ name: "step", first: 1, last: 22 }] }) as Source;
  act(() => {
    shown.run.answer({
      ...source,
      names: [
        { line: 1, column: 9, end_line: 1, end_column: 10, name: "w", why: "an argument", pattern: "", root: "" },
        { line: 1, column: 12, end_line: 1, end_column: 13, name: "b", why: "an argument", pattern: "", root: "" },
        { line: 19, column: 8, end_line: 19, end_column: 11, name: "h", why: "not watched", pattern: "h", root: "" },
      ],
    });
    shown.run.draw();
  });
  return shown;
}

/** Gives elements a height, because happy-dom does no layout. */
function withHeight<T>(height: number, run: () => T): T {
  const own = Object.getOwnPropertyDescriptor(HTMLElement.prototype, "clientHeight");
  Object.defineProperty(HTMLElement.prototype, "clientHeight", { configurable: true, get: () => height });
  try {
    return run();
  } finally {
    if (own) Object.defineProperty(HTMLElement.prototype, "clientHeight", own);
  }
}

const shownAs = (name: string) => find(`[data-name='${name}']`).getAttribute("aria-description");

describe("the source", () => {
  it("is requested once, and lines with values are shown meanwhile", () => {
    const { run } = showTab("source", goldenBatch("watch"));
    change(run, goldenBatch("watch", { first: 6 }));
    expect(run.asked.filter((one) => one.startsWith("source"))).toEqual(['source {"type":"source","file":"train.py"}']);
    expect(find(".source-note").textContent).toContain("Loading the source");
    expect(texts(".line-number").slice(0, 2)).toEqual(["21", "22"]);
    expect(texts("code")[0]).toBe("logits = w.dot(x) + b");
  });

  describe("begins in a long file", () => {
    const LONG = Array.from({ length: 90 }, (_, i) => `line ${i + 1}`);
    const seen = () => all(".source-row[data-line]").map(({ dataset }) => Number(dataset.line));
    /** Shows a long file in which only lines 61 and 62 have values. A hidden view has the height 0. */
    const openLong = (name: string, height: number, ui = createUi()) => {
      const batch = goldenBatch(name);
      const [{ file = "" } = {}] = batch.sites;
      const sites = batch.sites.map((site) => ({ ...site, file, line: site.line < 22 ? 61 : 62 }));
      ui.tab.value = "source";
      const run = withHeight(height, () => {
        const run = show({ ...batch, sites }, ui);
        const source = decode({ ...golden("source").content, file, lines: LONG, functions: [], names: [] }) as Source;
        act(() => {
          run.answer(source);
          run.draw();
        });
        return run;
      });
      return { run, ui, file };
    };

    it.each(["watch", "small"])("at the first line with a value or a print: %s", (name) => {
      openLong(name, 220);
      expect(find("[data-testid=code]").scrollTop).toBe(22 * 58);
      expect(seen()).toContain(61);
    });

    it("at the line that was chosen", () => {
      const ui = createUi();
      const [{ file = "" } = {}] = goldenBatch("small").sites;
      ui.place.value = { file, line: 80, index: 0 };
      openLong("small", 220, ui);
      expect(seen()).toContain(80);
    });

    it("at the line of a stop, with the lines below it", () => {
      const [{ file = "" } = {}] = goldenBatch("small").sites;
      const [frame] = goldenStop().frames;
      const frames = [{ ...frame, file, line: 10, source: LONG, first_line: 1 } as FrameMessage];
      const ui = createUi();
      const { run } = openLong("empty", 220, ui);
      withHeight(220, () => {
        stopAt(run, goldenStop({ frames, frame: 0, kind: "step" }));
        act(() => run.draw());
        expect(find("[data-testid=code]").scrollTop).toBe(22 * 9 - 99);
      });
    });

    it("and stays where somebody has scrolled it, until another line is chosen", () => {
      const heard: (() => void)[] = [];
      vi.stubGlobal(
        "ResizeObserver",
        class {
          constructor(changed: () => void) {
            heard.push(changed);
          }
          observe() {}
          disconnect() {}
        },
      );
      const { ui, run, file } = openLong("small", 220);
      const code = find("[data-testid=code]");
      act(() => {
        code.scrollTop = 22 * 10;
        code.dispatchEvent(new Event("scroll"));
      });
      withHeight(330, () => {
        act(() => {
          for (const changed of heard) changed();
        });
        expect(code.scrollTop).toBe(22 * 10);
        act(() => {
          ui.place.value = { file, line: 80, index: 0 };
          run.draw();
        });
        expect(seen()).toContain(80);
      });
      vi.unstubAllGlobals();
    });
  });

  it("sets a breakpoint beside a line, for the next run until it has stopped this one", () => {
    const breakpoint = (line: number) => `[data-line='${line}'] .set-break`;
    const { run } = withHeight(900, () => open());
    click(breakpoint(22));
    expect(run.asked.at(-1)).toBe('line {"type":"line","line":"train.py:22","on":true}');
    change(run, goldenBatch("watch", { first: 6, status: status({ lines: ["train.py:22"] }) }));
    expect([21, 22].map((line) => find(breakpoint(line)).dataset.breakpoint)).toEqual(["", "next"]);
    const point = { site: -2, name: "", where: "--break-on", condition: "train.py:22", enabled: true, skip: 0 };
    const stopped = { lines: ["train.py:22"], breakpoints: [{ ...point, hits: 2, cost: "" }] };
    change(run, goldenBatch("watch", { first: 6, status: status(stopped) }));
    expect(find(breakpoint(22)).dataset.breakpoint).toBe("on");
    click(breakpoint(22));
    expect(run.asked.at(-1)).toContain('"on":false');
  });

  it("says why it cannot be read", () => {
    const { run } = showTab("source", goldenBatch("watch"));
    act(() => {
      run.answer("train.py is not there any more.");
      run.draw();
    });
    expect(find(".source-note").textContent).toContain("train.py is not there any more. These are the lines");
    expect(all("[data-testid=value]")).toHaveLength(2);
  });

  it("says how to watch values if none are watched", () => {
    showTab("source", goldenBatch("empty"));
    expect(find("[data-testid=nothing-watched]").textContent).toContain("%%jaxdebug --watch-all");
    showTab("source", goldenBatch("small"));
    expect(texts(".source-note").at(-1)).toContain("%%jaxdebug --watch-all");
  });

  it("shows the values of its lines, with the gradient", () => {
    withHeight(600, () => {
      open();
      expect(shownAs("logits")).toBe(
        "logits f32[128,10] · in head · add, call 2 · step 1, " +
          "min -2.25 · max 2.75 · mean 0.25 · std 1.25 · l2 45.5, ‖gradient‖ 1280 nan",
      );
      expect(all("[data-testid=inspect]")).toHaveLength(0);
      expect(texts(".value-range")).toEqual(["min … max", "-2.25 … 2.75", "2.13"]);
      expect(texts(".value-gradient").map((text) => text.trim())).toEqual(["‖grad‖", "1280 nan", ""]);
    });
  });

  it("says why a name has no value", () => {
    withHeight(600, () => {
      const { ui, run } = open();
      act(() => {
        ui.place.value = { file: "train.py", line: 1, index: 0 };
        run.draw();
      });
      expect(texts(".why").filter(Boolean)).toEqual(["w, b: an argument", "+ watch h"]);
    });
  });

  it("adds a name to the watched values of the next run, and removes it", () => {
    withHeight(600, () => {
      const { ui, run } = open();
      const kernelWatches = (added: string[]) =>
        change(run, goldenBatch("watch", { status: status({ added }), first: 6 }));
      act(() => {
        ui.place.value = { file: "train.py", line: 19, index: 0 };
        run.draw();
      });
      const watched = () => [
        find("[data-testid=add-watch]").textContent,
        find("[data-testid=add-watch]").getAttribute("aria-pressed"),
      ];
      expect(watched()).toEqual(["+ watch h", "false"]);
      click("[data-testid=add-watch]");
      expect(run.asked.at(-1)).toBe('watch {"type":"watch","names":["h"],"on":true}');
      kernelWatches(["h"]);
      expect(watched()).toEqual(["h: watched from the next run on", "true"]);
      press("[data-testid=code]", "w");
      expect(run.asked.at(-1)).toBe('watch {"type":"watch","names":["h"],"on":false}');
      kernelWatches([]);
      expect(watched()).toEqual(["+ watch h", "false"]);
    });
  });

  it("follows the one moment of the panel, and steps of its own", () => {
    withHeight(600, () => {
      const { ui } = open();
      type("[data-testid=step]", "0");
      expect(ui.moment.value).toBe(0);
      expect(find("[data-testid=when]").textContent).toBe("call 1 · step 0 · 1 of 2");
      expect(shownAs("logits")).toContain("mean 0.125");
      expect(shownAs("loss")).toContain("not computed yet");
      act(() => {
        ui.moment.value = 4;
      });
      expect([shownAs("logits"), shownAs("loss")].map((words) => /mean \S+|value \S+/.exec(words ?? "")?.[0])).toEqual([
        "mean 0.25",
        "value 2.125",
      ]);
    });
  });

  it("names the call of values outside a running loop", () => {
    const batch = goldenBatch("watch");
    // `logits` is in a loop of call 2; `loss` of call 2 has not arrived yet.
    for (const event of [0, 3]) batch.events.step[event] = event;
    batch.events.call[4] = 1;
    withHeight(600, () => {
      const { ui } = open(batch);
      const marked = () => all(".of-earlier").map((mark) => mark.textContent?.trim());
      expect([shownAs("loss"), marked()]).toEqual([expect.stringContaining("call 1"), ["call 1"]]);
      act(() => {
        ui.moment.value = 2;
      });
      expect(marked()).toEqual([]);
    });
  });

  it("shows only the chosen call", () => {
    withHeight(600, () => {
      const { ui } = open();
      act(() => {
        ui.onlyCall.value = 1;
      });
      expect(shownAs("logits")).toContain("mean 0.125");
    });
  });

  it("is navigated with keys", () => {
    withHeight(600, () => {
      const { ui, run } = open();
      press("[data-testid=code]", "ArrowDown");
      expect(ui.place.value).toEqual({ file: "train.py", line: 21, index: 0 });
      press("[data-testid=code]", "ArrowDown");
      press("[data-testid=code]", "Enter");
      expect(find("[data-testid=inspect]").dataset.site).toBe("2");
      expect(find("[data-testid=section-over-steps] [data-testid=plot]").dataset.points).toBe("2");
      press("[data-testid=code]", "w");
      expect(run.asked.at(-1)).toBe('watch {"type":"watch","names":["loss"],"on":false}');
      act(() => {
        run.answer({ type: "done", version: 1, run: "run-1", id: 9, sites: [2] });
        run.draw();
      });
      expect(find("[data-testid=watch-toggle]").textContent).toBe("not watched");
      expect(find(".source-row.off").dataset.line).toBe("22");
      press("[data-testid=code]", "ArrowUp", { shiftKey: true });
      expect(ui.place.value?.line).toBe(21);
      press("[data-testid=code]", "ArrowLeft");
      expect(ui.moment.value).toBe(0);
      press("[data-testid=code]", "ArrowRight");
      expect(ui.moment.value).toBeNull();
    });
  });

  it("jumps to the first value that was not finite", () => {
    withHeight(600, () => {
      const { ui } = open();
      expect(texts(".first-bad")).toEqual(["first NaN: ∂ logits line 21"]);
      click("[data-testid=first-nan]");
      expect([ui.moment.value, ui.place.value?.line]).toEqual([5, 21]);
      expect(find("[data-testid=inspect]").dataset.site).toBe("3");
    });
  });

  it("names every derivative that may have caused a NaN, with its inputs", () => {
    withHeight(600, () => {
      const batch = goldenBatch("watch");
      const derivatives = ["jnp.sqrt(logits)", "jnp.log(logits)"].map((text, i) => {
        return { text, file: "train.py", line: 23 + i, where: `train.py:${23 + i}` };
      });
      const sites = batch.sites.map((site) => ({ ...site, watch: site.watch && { ...site.watch, derivatives } }));
      open({ ...batch, sites });
      click("[data-testid=first-nan]");
      expect(texts(".why-table tr").slice(-3)).toEqual([
        "One of these 2 derivatives makes it:",
        "line 23derivative of jnp.sqrt(logits) ",
        "line 24derivative of jnp.log(logits) 1280 nan",
      ]);
      expect(all(".why-table [data-operand=logits]")).toHaveLength(1);
    });
  });

  it("jumps to the line whose derivative was not finite", () => {
    withHeight(600, () => {
      const batch = goldenBatch("watch");
      const derivatives = [{ text: "jnp.sqrt(logits)", file: "train.py", line: 23, where: "train.py:23" }];
      const sites = batch.sites.map((site) => ({ ...site, watch: site.watch && { ...site.watch, derivatives } }));
      const { ui } = open({ ...batch, sites });
      expect(texts(".first-bad")).toEqual(["first NaN: ∂ logits line 23"]);
      expect(find("[data-testid=first-nan]").title).toBe(
        "The derivative of jnp.sqrt(logits) at train.py:23 computes it",
      );
      click("[data-testid=first-nan]");
      expect([ui.moment.value, ui.place.value?.line]).toEqual([5, 23]);
      expect(find("[data-testid=inspect]").dataset.site).toBe("3");
      expect(texts(".why-table tr").at(-1)).toBe("line 23derivative of jnp.sqrt(logits) 1280 nan");
      expect(find("[data-operand=logits]").textContent).toContain("-2.25 … 2.75");
    });
  });

  it("explains a NaN by the carry of the previous iteration, under its current name", () => {
    withHeight(600, () => {
      const batch = goldenBatch("types");
      const sites = batch.sites.map((site) => ({ ...site, watch: site.watch && { ...site.watch, given_on: ["x"] } }));
      const [row, value, y] = [Uint32Array.of(3, 3, 4, 4), Uint16Array.of(0, 1, 0, 6), Float64Array.of(0.75, 2, 1, 2)];
      const { ui } = open({ ...batch, sites, points: { ...batch.points, row, value, y } });
      act(() => {
        ui.moment.value = 4;
        ui.value.value = 1;
      });
      expect(texts(".why-table tr")).toEqual(["line 21x h, an iteration before0.75 … 2", "line 21w.dot(x) + b 2 nan"]);
    });
  });

  it("names the choice that may mask a NaN", () => {
    withHeight(600, () => {
      const batch = goldenBatch("watch");
      const choice = "jnp.where(m, logits, 0) at train.py:22";
      const sites = batch.sites.map((site) => ({ ...site, watch: site.watch && { ...site.watch, choice } }));
      const first_nonfinite = { site: 3, event: 5, nan: true, masked: true, lane: [], where: "", file: "", line: 0 };
      open({ ...batch, sites, status: { ...batch.status, first_nonfinite } });
      expect(texts(".first-bad")).toEqual(["first NaN: ∂ logits line 21, masked?"]);
      click("[data-testid=first-nan]");
      const facts = find("[data-testid=inspect] .inspector-head").textContent;
      expect(facts).toContain(`${choice} may mask it`);
      const names = ["min of finite", "max of finite", "mean of finite", "std of finite", "l2"];
      expect(texts(".statistics dt").slice(0, 5)).toEqual(names);
      expect(texts("[data-testid=section-over-steps] .about")[0]).toBe("mean, × where not finite");
    });
  });

  it("names the line where a check has located a NaN, and jumps there", () => {
    withHeight(600, () => {
      const batch = goldenBatch("watch");
      const file = batch.sites.find(({ id }) => id === 3)?.file ?? "";
      const born = { where: "train.py:20", file, line: 20 };
      const first_nonfinite = { site: 3, event: 5, nan: true, masked: false, lane: [], ...born };
      const { ui } = open({ ...batch, status: { ...batch.status, first_nonfinite } });
      expect(texts(".first-bad")).toEqual(["first NaN: ∂ logits line 20"]);
      click("[data-testid=first-nan]");
      expect(ui.place.value?.line).toBe(20);
    });
  });

  it("does not call a NaN masked if the call has an unmasked one, and names the first", () => {
    withHeight(600, () => {
      const batch = goldenBatch("watch");
      const choice = "jnp.where(m, logits, 0) at train.py:22";
      const masked = batch.sites.map((site) =>
        site.id === 3 ? { ...site, watch: site.watch && { ...site.watch, choice } } : site,
      );
      const y = batch.points.y.map((one) => (one === 2.125 ? Number.NaN : one));
      const { ui, run } = open({ ...batch, sites: masked, points: { ...batch.points, y } });
      act(() => {
        ui.value.value = 3;
        run.draw();
      });
      expect(find("[data-testid=inspect] .inspector-head").textContent).not.toContain("may mask it");
      expect(texts(".why-table tr")[0]).toBe("First in this call: dot(x) + b, line 22");
    });
  });

  it("jumps to a function", () => {
    withHeight(600, () => {
      const { ui } = open();
      const choice = find("[data-testid=function-choice]") as HTMLSelectElement;
      expect(texts("[data-testid=function-choice] option")).toEqual(["step · train.py"]);
      act(() => {
        choice.dispatchEvent(new Event("change", { bubbles: true }));
      });
      expect(ui.place.value?.line).toBe(21);
    });
  });

  it("shows the value under the pointer, and inspects it on a click", () => {
    withHeight(600, () => {
      const { ui } = open();
      act(() => {
        find(".can-point[data-value='1']").dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
      });
      expect(find("[role=tooltip]").textContent).toContain("l2 45.5");
      click(".can-point[data-value='1']");
      expect(ui.value.value).toBe(1);
      const plot = "[data-testid=section-over-steps] [data-testid=plot]";
      expect(find(plot).dataset.series).toBe("logits");
      act(() => {
        ui.statistic.value = "std";
      });
      expect([find(plot).dataset.series, texts(".source-heading .value-mean")]).toEqual(["logits", ["std"]]);
    });
  });

  it("requests and shows lanes", () => {
    withHeight(600, () => {
      const batch = goldenBatch("watch");
      const sites = batch.sites.map((site) =>
        site.id === 1 && site.watch
          ? { ...site, values: [...site.values, "lanes"], watch: { ...site.watch, lanes: [4, 150] } }
          : { ...site, transforms: [...site.transforms, "vmap"] },
      );
      const { ui, run } = showTab("source", { ...batch, sites });
      act(() => {
        ui.value.value = 1;
        run.draw();
      });
      expect(run.asked.at(-1)).toBe("array 3/9 []");
      const rows = 512;
      const pixels = new Float32Array(rows * 9).map((_, i) => i);
      act(() => {
        run.answerSlice({ ...goldenArray(), rows, columns: 9, pixels });
        run.draw();
      });
      expect(find("[data-testid=by-lane] figcaption").textContent).toBe(
        "the first 512 of 600 lanes; the statistics of the value are of all lanes · 200 are listed",
      );
      expect(all("[data-testid=by-lane] tr")).toHaveLength(201);
      expect(find("[data-testid=by-lane] tbody tr:last-child").textContent).toContain("1, 49");
      expect(find(".spread").getAttribute("aria-label")).toContain("logits by lane: 512 lanes");
      expect(all("[data-testid=by-lane-toggle]")).toHaveLength(0);
      act(() => {
        ui.value.value = 2;
        run.draw();
      });
      click("[data-testid=by-lane-toggle]");
      expect(run.asked.at(-1)).toBe('watch {"type":"watch","names":["lanes/loss"],"on":true}');
      change(run, { ...batch, count: 0, first: 6, sites: [], status: status({ added: ["lanes/loss"] }) });
      expect(find("[data-testid=by-lane-toggle]").textContent).toBe("by lane from the next run on");
    });
  });

  it("stays when the kernel is gone", () => {
    const { run } = showTab("source", goldenBatch("watch", { status: status({ state: "running" }) }));
    act(() => {
      run.store.lose();
      run.draw();
    });
    expect(find(".source-note").textContent).toContain("The kernel is gone");
    expect(shownAs("logits")).toContain("mean 0.25");
  });
});

describe("watched values elsewhere", () => {
  it("are counted separately from prints, and have no rows among them", () => {
    const { run } = showTab("streams", goldenBatch("watch"));
    expect(find(".numbers").textContent).toContain("0 prints · 6 watched values");
    expect(all(".row, .site")).toHaveLength(0);
    const { sites, events, ...small } = goldenBatch("small", { first: 6 });
    const others = sites.map((site) => ({ ...site, id: site.id + 9 }));
    change(run, { ...small, sites: others, events: { ...events, site: events.site.map((id) => id + 9) } });
    expect(find(".numbers").textContent).toContain("5 prints · 6 watched values");
  });

  it("are no ticks of the timeline", () => {
    showTab("timeline", goldenBatch("watch"));
    expect(find("[data-testid=site-ticks]").getAttribute("aria-label")).toBe("0 prints of 0 places");
  });
});

it("the source shows the type that a value had in the chosen call", () => {
  const ui = createUi();
  ui.tab.value = "source";
  const run = show(goldenBatch("types"), ui);
  const typeIn = (call: number | null) => {
    act(() => {
      ui.onlyCall.value = call;
      run.draw();
    });
    return [texts(".value-type").at(-1), find("[data-name=h]").getAttribute("aria-description")?.split(" ")[1]];
  };
  expect([1, 2, 3, null].map(typeIn)).toEqual(["f32[3]", "bf16[5]", "f32[3]", "f32[3]"].map((type) => [type, type]));
});

describe("a sparkline", () => {
  const drawn = (...means: number[]) => {
    const table = new WatchTable(["mean", "nan"]);
    const batch = goldenBatch("watch", { first: 0 });
    means.forEach((mean, i) => {
      const row = table.push({ ...batch, first: i }, 0);
      table.set(row, 0, mean);
      table.set(row, 1, Number(Number.isNaN(mean)));
    });
    return pathsOf(table, "mean");
  };

  it("is a line through lows and highs, with marks", () => {
    expect(drawn(0, 1, Number.NaN, 0.5)).toEqual({ line: "M1 14.0L22 2.0L63 8.0", bad: "M42 0v16" });
  });

  it("is a dot for a single value", () => {
    expect(drawn(3)).toEqual({ line: "M1 14.0h1", bad: "" });
  });
});

it("the source keeps its selection when another view is opened", () => {
  const ui = createUi();
  ui.tab.value = "source";
  const run = show(goldenBatch("watch"), ui);
  act(() => {
    ui.value.value = 1;
    run.draw();
  });
  press(".tab", "4");
  press(".tab", "3");
  expect(find("[data-testid=inspect]").dataset.site).toBe("1");
});
