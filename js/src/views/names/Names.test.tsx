import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { all, choose, click, find, press, showTab, texts, type } from "../../../test/screen";
import type { WatchSite } from "../../store/watched";
import { pathOf, rowsOf, treeOf } from "./tree";

function siteOf(id: number, name: string, role: "value" | "gradient" = "value", line = id): WatchSite {
  const [site] = goldenBatch("watch").sites;
  const about = { ...site, id, line, where: `train.py:${line}` } as WatchSite;
  return { ...about, watch: { ...about.watch, name, role } };
}

describe("the path of a name", () => {
  it.each([
    ["h", ["h"]],
    ["grads.mlp.layers[0].w", ["grads", "mlp", "layers[0]", "w"]],
    ["params['dense']['kernel']", ["params", "dense", "kernel"]],
    ['params["w1"]', ["params", "w1"]],
    ["states[1].count", ["states", "[1]", "count"]],
    ["x @ w + b.T", ["x @ w + b.T"]],
    ["x[0] + 1", ["x[0] + 1"]],
  ])("of %s", (name, path) => {
    expect(pathOf(name)).toEqual(path);
  });
});

describe("the tree of names", () => {
  const tree = treeOf([
    siteOf(1, "h"),
    siteOf(2, "h", "gradient"),
    siteOf(3, "grads.mlp.layers[0].w"),
    siteOf(4, "grads.mlp.layers[1].w"),
    siteOf(5, "h", "value", 9),
  ]);
  const drawn = (turned: string[] = [], wanted = "") =>
    rowsOf(tree, new Set(turned), wanted).map(({ depth, label, place }) => `${" ".repeat(depth)}${label}${place}`);

  it("has values, gradients, and each path", () => {
    expect(drawn()).toEqual([
      ...["Values", " h:1", " h:9", "Gradients", " ∂ h"],
      ...["grads", " mlp", "  layers[0]", "   w", "  layers[1]", "   w"],
    ]);
    expect(drawn(["/grads"])).toEqual(["Values", " h:1", " h:9", "Gradients", " ∂ h", "grads"]);
  });

  it("shows the names that have all words of a search", () => {
    expect(drawn([], "mlp w  layers[1]")).toEqual(["grads", " mlp", "  layers[1]", "   w"]);
    expect(drawn([], "h gradient")).toEqual(["Gradients", " ∂ h"]);
    expect(drawn([], "mlp zzz")).toEqual([]);
  });

  it("names the process of a name that several processes have", () => {
    const of = (id: number, line: number, process: number) => ({ ...siteOf(id, "h", "value", line), process });
    const places = (...sites: WatchSite[]) => rowsOf(treeOf(sites), new Set()).map(({ place }) => place);
    expect(places(of(1, 4, 0), of(2, 4, 1))).toEqual(["", "process 0", "process 1"]);
    expect(places(of(1, 4, 0), of(2, 5, 1))).toEqual(["", ":4 process 0", ":5 process 1"]);
    expect(places(of(1, 4, 0), of(2, 4, 0))).toEqual(["", ":4 1/2", ":4 2/2"]);
  });

  it("shows matches in closed groups", () => {
    expect(drawn(["/grads"], "layers[1]")).toEqual(["grads", " mlp", "  layers[1]", "   w"]);
    expect(drawn([], "nothing like it")).toEqual([]);
  });

  it("closes groups at first if there are many names", () => {
    const many = treeOf(Array.from({ length: 60 }, (_, i) => siteOf(i, i % 2 ? `h${i}` : `grads.layers[${i}].w`)));
    expect(rowsOf(many, new Set()).map(({ label }) => label)).toHaveLength(1 + 30 + 1);
    expect(rowsOf(many, new Set(["/grads"]))).toHaveLength(1 + 30 + 1 + 30);
  });
});

describe("the names beside the code", () => {
  it("show the statistic at the step, and values that are not finite", () => {
    const { ui } = showTab("source", goldenBatch("watch"));
    const numbers = () => texts("[data-testid=name] .number");
    expect(numbers()).toEqual(["0.25", "2.13", "1280 nan"]);
    act(() => {
      ui.statistic.value = "max";
      ui.moment.value = 0;
    });
    expect(numbers()).toEqual(["1.5", "–", "–"].map((text, i) => (i === 0 ? expect.any(String) : text)));
  });

  it("offer the statistics that the kernel sends", () => {
    const batch = goldenBatch("watch");
    const sites = batch.sites.map((site) => ({
      ...site,
      values: site.values.map((name) => (name === "l2" ? "l1" : name)),
    }));
    const { ui } = showTab("source", { ...batch, sites });
    const offered = texts("[data-testid=statistic-choice] option");
    expect(offered).toEqual(["min", "max", "mean", "std", "l1", "zeros", "NaN", "+∞", "−∞"]);
    choose("[data-testid=statistic-choice]", "l1");
    expect(ui.statistic.value).toBe("l1");
  });

  it("are selected to be plotted together, and inspected by a click", () => {
    const { ui } = showTab("source", goldenBatch("watch"));
    click("[data-of=loss] .name-tick");
    click("[data-of='∂ logits'] .name-tick");
    expect([...ui.ticked.value]).toEqual(["2", "3"]);
    expect(texts("[data-testid=together] figcaption b")).toEqual(["loss", "∂ logits"]);
    click("[data-of=logits]");
    expect(find("[data-testid=inspect]").dataset.site).toBe("1");
    expect(texts("[data-testid=section-over-steps] figcaption b")).toEqual(["logits", "loss", "∂ logits"]);
    click("[data-testid=section-over-steps] .mini[title='Untick all names']");
    expect(ui.ticked.value.size).toBe(0);
  });

  it("close on a choice if they cover the code, which gets the focus", () => {
    const { ui } = showTab("source", goldenBatch("watch"));
    for (const choose of [() => click("[data-of=logits]"), () => press("[role=tree]", "Enter")]) {
      click("[data-testid=names-toggle]");
      click("[data-of=loss] .name-tick");
      expect(ui.names.value).toBe(true);
      act(choose);
      expect([ui.names.value, ui.value.value]).toEqual([false, 1]);
      expect((find("[data-testid=code]").getRootNode() as ShadowRoot).activeElement).toBe(find("[data-testid=code]"));
    }
  });

  it("are navigated with keys", () => {
    const { ui } = showTab("source", goldenBatch("watch"));
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) press("[role=tree]", key);
    expect(ui.value.value).toBe(1);
    press("[role=tree]", " ");
    expect(find("[data-of=logits]").getAttribute("aria-checked")).toBe("true");
    press("[role=tree]", "ArrowLeft");
    press("[role=tree]", "ArrowLeft");
    expect(texts("[data-testid=name-group]")).toEqual(["Values2", "Gradients1 not finite"]);
  });

  it("are filtered by typed text", () => {
    showTab("source", goldenBatch("watch"));
    type(".names input", "los");
    expect(texts("[data-testid=name] .name-label")).toEqual(["loss"]);
    type(".names input", "zzz");
    expect(find(".names p").textContent).toBe("No name matches.");
  });

  it("of a thousand are drawn in part", () => {
    const batch = goldenBatch("watch");
    const sites = Array.from({ length: 1000 }, (_, i) => siteOf(100 + i, `grads.layers[${i}].w`));
    showTab("source", { ...batch, sites: [...batch.sites, ...sites] });
    expect(find("[data-testid=names]").dataset.rows).toBe("6");
    expect(all("[data-testid=name-group]")).toHaveLength(3);
    click("[data-testid=name-group]:last-child");
    expect(find("[data-testid=names]").dataset.rows).toBe("1006");
    expect(all(".name-row").length).toBeLessThan(60);
  });
});
