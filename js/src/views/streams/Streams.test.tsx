import { act } from "preact/test-utils";
import { describe, expect, it, vi } from "vitest";
import { goldenArray, goldenBatch } from "../../../test/golden";
import { all, change, click, find, press, showStreams, showTab, status, texts, type } from "../../../test/screen";
import { createUi } from "../../store/ui";

describe("the streams", () => {
  it("show escaped text", () => {
    showStreams(goldenBatch("unicode"));
    expect(texts(".text")).toContain("🙂 <b>not html</b>");
    expect(all(".text b")).toHaveLength(0);
  });

  it("have the colours that the program prints, in the line and below, and marked matches", () => {
    const run = showStreams(goldenBatch("small"));
    run.store.texts.add(new Map([[0, "loss \u001b[1;31m0.25\u001b[0m\n\u001b[32mdone"]]), 3);
    change(run, goldenBatch("empty", { first: 5 }));
    const row = "[data-event='3']";
    expect([texts(`${row} .line`), texts(`${row} .line .ansi-red`)]).toEqual([["loss 0.25"], ["0.25"]]);
    click(`${row} .expander`);
    expect(texts("[data-testid=detail] pre")).toEqual(["loss 0.25\ndone"]);
    expect(texts("[data-testid=detail] pre .ansi-green")).toEqual(["done"]);
  });

  it("wrap lines that are longer than any screen, and no others", () => {
    const run = showStreams(goldenBatch("small"));
    const isWrapped = (text: string) => {
      run.store.texts.add(new Map([[0, text]]), 3);
      change(run, goldenBatch("empty", { first: 5 }));
      return find("[data-testid=detail] pre").classList.contains("wrapped");
    };
    click("[data-event='3']");
    expect([isWrapped("word ".repeat(2000)), isWrapped("[1. 2.]\n".repeat(2000))]).toEqual([true, false]);
  });

  it("show only a stream that has sites", () => {
    showStreams(goldenBatch("unicode"));
    expect(find("[data-testid=stream-ordered]").className).toContain("slim");
    expect(find("[data-testid=stream-unordered]").className).not.toContain("slim");
  });

  it("mark values that are not finite", () => {
    showStreams(goldenBatch("nonfinite"));
    expect(texts(".text mark")).toEqual(["nan", "inf", "-inf"]);
    expect(texts(".phase-backward").length).toBeGreaterThan(0);
  });

  it("mark phantoms, and hide them when asked to", () => {
    showStreams(goldenBatch("lanes"));
    expect(all(".row.phantom .badge")).toHaveLength(2);
    expect(find("[data-testid=phantoms]").textContent).toBe("5 phantoms");
    click("[data-testid=phantoms]");
    expect(find("[data-testid=phantoms]").getAttribute("aria-pressed")).toBe("false");
    expect(all(".row.phantom")).toHaveLength(0);
    expect(texts(".stream-count")).toContain("21 of 26");
  });

  it("do not mention phantoms if there are none", () => {
    showStreams(goldenBatch("small"));
    expect(all("[data-testid=phantoms], .phantom")).toHaveLength(0);
  });

  it("have a field for each site with its sampling interval", () => {
    showStreams(goldenBatch("small"));
    const field = find("[data-every='2']") as HTMLInputElement;
    expect(field.value).toBe("1");
    act(() => {
      field.value = "0.5";
      field.dispatchEvent(new Event("change"));
    });
    expect(field.value).toBe("1");
    act(() => {
      field.value = "20";
      field.dispatchEvent(new Event("change"));
    });
    expect((find("[data-every='2']") as HTMLInputElement).value).toBe("20");
  });

  it("open a text of several lines below", () => {
    showStreams(goldenBatch("small"));
    expect(find(".expander").textContent).toBe("⏎ 2 lines");
    click(".expander");
    expect(find("[data-testid=detail] pre").textContent).toBe("x [1. 2.]\n  [3. 4.]");
    click(".close");
    expect(all("[data-testid=detail]")).toHaveLength(0);
  });

  it("move the selection with the arrow keys", () => {
    showStreams(goldenBatch("small"));
    press("[data-testid=stream-ordered] .viewport", "ArrowUp");
    press("[data-testid=stream-ordered] .viewport", "ArrowUp");
    expect(find(".row.selected .text").textContent).toBe("loss 1.25");
  });

  it("show the events of a chosen site only, and where it is", () => {
    showStreams(goldenBatch("small"));
    click("[data-site='2']");
    expect(texts("[data-testid=stream-ordered] .row")).toEqual([]);
    expect(texts("[data-testid=stream-unordered] .row")).toHaveLength(2);
    expect(find("[data-testid=detail]").textContent).toContain('jax.debug.print("x {}", x, ordered=False)');
    click("[data-site='2']");
    expect(texts("[data-testid=stream-ordered] .row")).toHaveLength(3);
  });

  it("are filtered by what is typed", () => {
    const ui = createUi();
    showStreams(goldenBatch("small"), ui);
    act(() => {
      ui.filter.value = "/0\\.6/";
    });
    expect(texts("[data-testid=stream-ordered] .text")).toEqual(["loss 0.625"]);
    expect(find(".stream-count").textContent).toBe("1 of 3");
    expect(texts("[data-testid=stream-unordered] .empty")).toEqual(["No line matches."]);
    type("[data-testid=filter]", "foo:3");
    expect(texts("[data-testid=stream-unordered] .empty")[0]).toMatch(
      /^No line matches. There is no foo: to filter by/,
    );
  });

  it("say that more lines may match while lines are searched", () => {
    const ui = createUi();
    const run = showStreams(goldenBatch("small"), ui);
    change(run, goldenBatch("small", { first: 5, texts: new Map() }));
    act(() => {
      ui.filter.value = "zzz";
    });
    expect(texts("[data-testid=stream-unordered] .empty")).toEqual(["No line matches yet."]);
  });

  it("name the gap and ask for the lines that are missing", () => {
    showStreams(goldenBatch("dropped"));
    expect(texts(".row.gap")).toEqual(["1\u2009000 prints dropped"]);
    const run = showStreams(goldenBatch("large", { texts: new Map() }));
    expect(run.asked).toEqual(["rows 9800 200"]);
    expect(texts(".text")[0]).toBe("…");
  });

  it("hold few rows of many", () => {
    showStreams(goldenBatch("large"));
    expect(find("[data-testid=stream-ordered]").dataset.rows).toBe("5000");
    expect(texts(".row").length).toBeLessThan(100);
  });

  it("say why they are empty", () => {
    showStreams(goldenBatch("empty", { status: status({ state: "running" }) }));
    expect(find(".empty").textContent).toContain("Nothing printed yet");
    showStreams(goldenBatch("empty"));
    expect(find(".empty").textContent).toContain("Nothing was printed in this run");
    showTab("streams", goldenBatch("watch"));
    expect(find(".empty").textContent).toContain("The watched values are in Code");
  });

  it("can be merged in the order of arrival", () => {
    showStreams(goldenBatch("small"));
    click("[data-testid=merged]");
    expect(texts("[data-testid=stream-merged] .step")).toEqual(["0", "0", "1", "1", "2"]);
    expect(all("[data-testid=stream-ordered]")).toHaveLength(0);
  });

  it("mark events that came in another order than the program's", () => {
    showStreams(goldenBatch("out_of_order"));
    expect(texts("h4 .inversion")).toEqual(["1 out of order"]);
    expect(texts(".row .inversion")).toEqual(["↑", "↓"]);
  });

  it("find a text, and go from match to match", () => {
    const ui = createUi();
    showStreams(goldenBatch("small"), ui);
    type("[data-testid=find]", "loss");
    expect(find("[data-testid=found]").textContent).toBe("3");
    expect(texts("mark.hit")).toEqual(["loss", "loss", "loss"]);
    for (const event of [0, 2, 4, 0]) {
      press("[data-testid=find]", "Enter");
      expect(ui.event.value).toBe(event);
    }
    press("[data-testid=find]", "Enter", { shiftKey: true });
    expect(ui.event.value).toBe(4);
    expect(find("[data-testid=found]").textContent).toBe("3 of 3");
  });

  it("select a range of lines, which can be copied as text and as Python", async () => {
    const copied: string[] = [];
    vi.stubGlobal("navigator", { clipboard: { writeText: async (text: string) => copied.push(text) } });
    showStreams(goldenBatch("small"));
    click("[data-event='0']");
    click("[data-event='2']", { shiftKey: true });
    expect(texts(".row.selected .text")).toEqual(["loss 2.5", "loss 1.25", "x [1. 2.]⏎ 2 lines"]);
    press("[data-testid=stream-ordered] .viewport", "c");
    press("[data-testid=stream-ordered] .viewport", "p");
    await Promise.resolve();
    expect(copied[0]).toBe("loss 2.5\nx [1. 2.]\n  [3. 4.]\nloss 1.25");
    expect(copied[1]).toMatch(/^import jax_debug_widgets as jdw\n\nrun = jdw.find_run\("run-1"\)\nrun.events\[0:3\]$/);
    vi.unstubAllGlobals();
  });

  it("mute a site, and show that it is muted", () => {
    const run = showStreams(goldenBatch("small"));
    click("[data-mute='2']");
    expect(run.asked).toContain("mute 2 true");
    act(() => run.draw());
    expect(find("[data-mute='2']").getAttribute("aria-pressed")).toBe("true");
    expect(texts(".site-row.off .site-name")).toEqual(["x"]);
  });

  it("show the arrays of the selected event", () => {
    const run = showStreams(goldenBatch("small"));
    click("[data-event='1']");
    expect(run.asked).toContain("array 1/0 []");
    expect(find(".detail .slice").textContent).toBe("Loading …");
    act(() => {
      run.answerSlice(goldenArray());
      run.draw();
    });
    expect(find(".detail [data-testid=slice-line]").textContent).toContain("float32[2,4,6]");
  });

  it("are dimmed after the chosen moment", () => {
    const ui = createUi();
    showStreams(goldenBatch("small"), ui);
    act(() => {
      ui.moment.value = 1;
    });
    expect(texts(".row.later .step")).toEqual(["1", "2", "1"]);
  });

  it("show the step and the device, and filter by them", () => {
    const { ui } = showTab("streams", goldenBatch("steps"));
    expect(texts(".row .step").slice(-4)).toEqual(["0·0", "0·1", "1·0", "1·1"]);
    expect(texts(".row .tags .tag").slice(-2)).toEqual(["cpu:1", "train.py:8"]);
    click("[data-event='14'] button.tag");
    expect(ui.filter.value).toBe("device:cpu:1");
    expect(find("[data-testid=stream-unordered]").dataset.rows).toBe("8");
    expect(find("[data-term='device:cpu:1']").getAttribute("aria-pressed")).toBe("true");
    click("[data-term='device:cpu:0']");
    type(".filter", `${ui.filter.value} step:1`);
    expect(find("[data-testid=stream-unordered]").dataset.rows).toBe("8");
    click("[data-term='device:cpu:1']");
    expect(ui.filter.value).toBe("device:cpu:0 step:1");
    expect(find("[data-testid=stream-unordered]").dataset.rows).toBe("4");
  });
});
