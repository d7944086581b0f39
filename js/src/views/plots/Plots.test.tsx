import { describe, expect, it } from "vitest";
import { TestRun } from "../../../test/fakes";
import { goldenBatch } from "../../../test/golden";
import { all, change, choose, click, find, press, showTab, status, texts, type } from "../../../test/screen";

describe("the plots", () => {
  it("have one chart for each series, with its number of points", () => {
    const { run } = showTab("plots", goldenBatch("small"));
    expect(find("[data-testid=plot]").dataset).toMatchObject({ series: "loss", points: "3" });
    change(run, goldenBatch("small", { first: 5 }));
    expect(find("[data-testid=plot]").dataset.points).toBe("6");
    expect(find(".plot output").textContent).toBe("0.625");
  });

  it("name the value of the site, and say of how many lanes", () => {
    showTab("plots", goldenBatch("nonfinite"));
    expect(find("[data-testid=plot]").dataset).toMatchObject({ series: "g", points: "6" });
    showTab("plots", goldenBatch("lanes"));
    expect(texts(".plot-where")).toEqual(["train.py:8 · 3 lanes", "train.py:9 · 20 lanes"]);
  });

  it("switch to a logarithmic axis", () => {
    const { ui } = showTab("plots", goldenBatch("small"));
    click(".log-toggle");
    expect([...ui.logarithmic.value]).toEqual(["1/0"]);
    expect(find(".log-toggle").getAttribute("aria-pressed")).toBe("true");
  });

  it("say why they are empty", () => {
    showTab("plots", goldenBatch("unicode"));
    expect(find(".empty").textContent).toContain("No scalars in this run");
  });

  it("are drawn together when two are pinned", () => {
    showTab("plots", goldenBatch("lanes"));
    click("[data-series=y] .pin");
    expect(all("[data-testid=overlay]")).toHaveLength(0);
    click("[data-series=z] .pin");
    expect(texts("[data-testid=overlay] b")).toEqual(["y", "z"]);
    expect(find("[data-testid=overlay]").dataset.points).toBe("26");
  });

  it("are zoomed by keys, all together, and show all again; another axis begins anew", () => {
    showTab("plots", goldenBatch("lanes"));
    expect(all(".plot")).toHaveLength(2);
    const zoomed = () => all(".plot").map((plot) => plot.dataset.zoomed);
    press(".chart", "+");
    expect(new Set(zoomed())).toEqual(new Set(["true"]));
    press(".chart", "0");
    expect(new Set(zoomed())).toEqual(new Set(["false"]));
    press(".chart", "+");
    choose("[data-testid=axis]", "seconds");
    expect(new Set(zoomed())).toEqual(new Set(["false"]));
  });

  it("can be smoothed, and drawn by call", () => {
    const { ui } = showTab("plots", goldenBatch("small"));
    type("[data-testid=smoothing]", "0.9");
    choose("[data-testid=axis]", "call");
    expect([ui.smoothing.plots.value, ui.axis.value]).toEqual([0.9, "call"]);
  });

  it("show earlier runs of the same cell when asked", () => {
    const { run, ui } = showTab("plots", goldenBatch("small"));
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
