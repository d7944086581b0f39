import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { TestRun } from "../../../test/fakes";
import { goldenBatch } from "../../../test/golden";
import { all, change, choose, click, find, press, showTab, status, texts, type } from "../../../test/screen";

/** Shows the prints of a batch in the tree of names and inspects the first. */
function showFirst(batch: ReturnType<typeof goldenBatch>) {
  const shown = showTab("source", batch);
  click("[data-testid=name]");
  return shown;
}

describe("the chart of printed values", () => {
  it("is one chart with its number of points, and its name", () => {
    const { run } = showFirst(goldenBatch("small"));
    expect(find("[data-testid=plot]").dataset).toMatchObject({ series: "loss", points: "3" });
    change(run, goldenBatch("small", { first: 5 }));
    expect(find("[data-testid=plot]").dataset.points).toBe("6");
    expect(find(".plot output").textContent).toBe("0.625");
    expect(find("[data-of=loss] .number").textContent).toBe("0.625");
  });

  it("names the value, and the number of lanes", () => {
    showFirst(goldenBatch("nonfinite"));
    expect(find("[data-testid=plot]").dataset).toMatchObject({ series: "g", points: "6" });
    showFirst(goldenBatch("lanes"));
    expect(texts(".plot-where")).toEqual(["train.py:8 · 3 lanes"]);
    click("[data-of=z]");
    expect(texts(".plot-where")).toEqual(["train.py:9 · 20 lanes"]);
  });

  it("shows unknown values as unknown, and not as NaN", () => {
    const { ui } = showFirst(goldenBatch("small"));
    act(() => {
      ui.moment.value = -1;
    });
    expect([find(".plot output").textContent, find("[data-of=loss] .number").textContent]).toEqual(["–", "–"]);
  });

  it("switches to a logarithmic axis", () => {
    const { ui } = showFirst(goldenBatch("small"));
    click(".log-toggle");
    expect([...ui.logarithmic.value]).toEqual(["1/0"]);
    expect(find(".log-toggle").getAttribute("aria-pressed")).toBe("true");
  });

  it("is drawn together with selected names, also of watched values", () => {
    const { run } = showFirst(goldenBatch("lanes"));
    expect(all("[data-testid=overlay]")).toHaveLength(0);
    click("[data-of=z] .name-tick");
    expect(texts("[data-testid=overlay] b")).toEqual(["y", "z"]);
    expect(find("[data-testid=overlay]").dataset.points).toBe("26");
    const watch = goldenBatch("watch", { first: run.store.next });
    const sites = watch.sites.map((site) => ({ ...site, id: site.id + 40 }));
    const events = { ...watch.events, site: watch.events.site.map((id) => id + 40) };
    change(run, { ...watch, sites, events });
    click("[data-of=logits] .name-tick");
    expect(texts("[data-testid=overlay] b")).toEqual(["y", "z", "logits"]);
  });

  it("is zoomed by keys, and reset; another axis has its own zoom", () => {
    showFirst(goldenBatch("lanes"));
    const zoomed = () => find(".plot").dataset.zoomed;
    press(".chart", "+");
    expect(zoomed()).toBe("true");
    press(".chart", "0");
    expect(zoomed()).toBe("false");
    press(".chart", "+");
    choose("[data-testid=axis]", "seconds");
    expect(zoomed()).toBe("false");
  });

  it("can be smoothed, and drawn by call", () => {
    const { ui } = showFirst(goldenBatch("small"));
    type("[data-testid=smoothing]", "0.9");
    choose("[data-testid=axis]", "call");
    expect([ui.smoothing.inspector.value, ui.axis.value]).toEqual([0.9, "call"]);
  });

  it("shows earlier runs of the same cell when asked", () => {
    const { run, ui } = showFirst(goldenBatch("small"));
    expect(all("[data-testid=earlier]")).toHaveLength(0);
    const runOf = (title: string) => {
      const other = new TestRun();
      const sites = goldenBatch("small").sites.map((site) => ({ ...site, id: site.id + 40, where: "In [1]:1" }));
      other.store.apply(goldenBatch("small", { sites, status: status({ started: 9, title }) }));
      return other.store;
    };
    run.others = [runOf("step(params, batch)"), runOf("another program"), run.store];
    change(run, goldenBatch("empty", { first: 5, status: status({}) }));
    expect(find("[data-testid=earlier]").textContent).toBe("1 earlier run");
    click("[data-testid=earlier]");
    expect(ui.earlier.value).toBe(true);
  });
});
