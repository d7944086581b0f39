import { act } from "preact/test-utils";
import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { all, click, find, showTab, status, texts } from "../../../test/screen";
import type { FindingMessage } from "../../transport/wire";

const NAN: FindingMessage = {
  kind: "nonfinite",
  severity: 1,
  where: "train.py:22",
  headline: "the gradient of `n2` becomes NaN",
  why: "2 NaN among its values, first at call 2 (event 3).",
  advice: "",
  fix: [],
  file: "train.py",
  line: 22,
  first_line: 21,
  lines: ["    n2 = jnp.sum(v * v)", "    return jnp.sqrt(n2)"],
  site: 1,
  event: 3,
  lane: [37],
  section: "https://docs.jax.dev/en/latest/faq.html",
  followers: [{ where: "train.py:19", label: "grad/loss", site: 2, event: 4 }],
  following: 12,
};
const KEY: FindingMessage = {
  ...NAN,
  kind: "keys",
  where: "data.py:7",
  headline: "a key is used again",
  why: "",
  advice: "Split it.",
  fix: ["a, b = jax.random.split(key)"],
  file: "data.py",
  line: 7,
  lines: [],
  section: "",
  site: -1,
  event: -1,
  followers: [],
  following: 0,
};

function open(findings: FindingMessage[], checked = "") {
  const shown = showTab("findings", goldenBatch("watch", { status: status({ findings: findings.length, checked }) }));
  act(() => {
    shown.run.answer({ type: "findings", version: 1, run: "run-1", id: 1, findings });
    shown.run.draw();
  });
  return shown;
}

describe("the findings", () => {
  it("are requested when they are shown", () => {
    const { run } = open([NAN, KEY]);
    expect(run.asked.filter((one) => one.startsWith("findings"))).toEqual(['findings {"type":"findings"}']);
    expect(texts("[data-testid=finding] header strong")).toEqual([
      "The gradient of n2 becomes NaN",
      "A key is used again",
    ]);
    expect(find("#tab-findings").textContent).toBe("Findings2");
  });

  it("show the lines with the faulty one marked, and link to it and its step", () => {
    const { ui } = open([NAN]);
    expect(find(".excerpt .guilty").textContent).toContain("return jnp.sqrt(n2)");
    click("[data-testid=finding] header button.link");
    expect([ui.tab.value, ui.place.value?.line, ui.value.value, ui.moment.value]).toEqual(["source", 22, 1, 3]);
  });

  it("link to JAX's documentation of their kind if there is one", () => {
    open([NAN, KEY]);
    const links = all("[data-testid=finding] a").map((link) => link.getAttribute("href"));
    expect(links).toEqual(["https://docs.jax.dev/en/latest/faq.html"]);
  });

  it("name what followed, and how many", () => {
    const { ui } = open([NAN]);
    expect(find(".followers").textContent).toBe("12 others later: loss, …");
    click(".followers .link");
    expect([ui.tab.value, ui.value.value, ui.moment.value]).toEqual(["source", 2, 4]);
  });

  it("show what to write instead, and the place as text if its file is not in the source view", () => {
    open([KEY]);
    expect(texts(".fix pre")).toEqual(["a, b = jax.random.split(key)"]);
    expect(find("[data-testid=finding]").textContent).toContain("Split it.");
    expect(all("[data-testid=finding] header button.link")).toEqual([]);
  });

  it("have no tab if there are none, and say so if none are left", () => {
    open([]);
    expect(all("#tab-findings")).toEqual([]);
    expect(find(".empty").textContent).toContain("No findings");
  });

  it("say which checks found none", () => {
    const shown = (checked: string) => {
      open([], checked);
      expect(all("#tab-findings").length).toBe(1);
      return find(".empty").textContent;
    };
    expect(shown("All checks")).toBe("No findingsAll checks ran.");
    expect(shown("oob, keys")).toContain("No findingsoob, keys ran.Run the cell with %%jaxdebug --check all");
  });

  it("say why they could not be read", () => {
    const { run } = showTab("findings", goldenBatch("watch", { status: status({ findings: 1 }) }));
    act(() => {
      run.answer("This run is gone: run the cell again.");
      run.draw();
    });
    expect(find("[role=alert]").textContent).toContain("This run is gone");
  });
});
