import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { all, click, find, press, showTab, status, texts } from "../../../test/screen";
import type { CallMessage } from "../../transport/wire";

describe("the calls", () => {
  it("are a table in which failures stand out", () => {
    showTab("calls", goldenBatch("nonfinite"));
    expect(texts("thead th")[0]).toBe("call");
    expect(texts("tbody tr.failed td.error")).toEqual(["FloatingPointError: nan in g"]);
  });

  it("select the call whose stages are shown", () => {
    const { ui } = showTab("calls", goldenBatch("small"));
    expect(texts("tbody tr:not(.traced) td")).toEqual([
      "1",
      "done",
      "0.21 s",
      "40 ms",
      "0.83 s",
      "0.52 s",
      "50 ms later",
      "5",
    ]);
    click("tbody button");
    expect(ui.call.value).toBe(1);
  });

  it("are navigated with the arrow keys, and reached by one Tab", () => {
    const [call] = goldenBatch("small").calls;
    const calls = [1, 2, 3].map((id) => ({ ...call, id }) as CallMessage);
    const { ui } = showTab("calls", goldenBatch("small", { calls }));
    const reached = () => all("tbody [tabindex='0']").map((button) => button.closest("tr")?.dataset.call);
    expect(reached()).toEqual(["3"]);
    press("tr[data-call='3'] button", "ArrowDown");
    expect([ui.call.value, reached()]).toEqual([2, ["2"]]);
    expect(document.activeElement?.closest("tr")?.dataset.call).toBe("2");
    press("tr[data-call='2'] button", "ArrowUp");
    press("tr[data-call='3'] button", "ArrowUp");
    expect(ui.call.value).toBe(3);
  });

  it("show what Python's print wrote while tracing, below the call", () => {
    showTab("calls", goldenBatch("small"));
    expect(texts("tr.traced")).toEqual(["traced: train.py:12 in step: <x> Traced (traced: its first call here)"]);
  });

  it("say why their function was traced again, before what it printed", () => {
    const [call] = goldenBatch("small").calls;
    const retraced = "`x`: float32[3] → float32[4]";
    showTab("calls", goldenBatch("small", { calls: [{ ...call, retraced } as CallMessage] }));
    expect(texts("tr.traced")[0]).toEqual("traced again: x: float32[3] → float32[4]");
    expect(texts("tr.traced")).toHaveLength(2);
  });

  it("open the traced program of the chosen call if it was captured", () => {
    const { ui } = showTab("calls", goldenBatch("small"));
    expect(texts("tbody .link")).toEqual(["program…"]);
    click("tbody .link");
    expect([ui.tab.value, ui.program.value]).toEqual(["program", 1]);
    showTab("calls", goldenBatch("small", { status: status({ captured: false }) }));
    expect(texts("tbody .link")).toEqual([]);
  });

  it("say why they are empty", () => {
    showTab("calls", goldenBatch("empty"));
    expect(find(".empty").textContent).toContain("No call was recordedCalls that are written in the cell itself");
    showTab("calls", goldenBatch("empty", { status: status({ state: "running" }) }));
    expect(find(".empty").textContent).toContain("No call recorded yet");
    const { barrier } = status({});
    showTab("timeline", goldenBatch("empty", { status: status({ barrier: { ...barrier, waits: [] } }) }));
    expect(find(".empty").textContent).toContain("No call was recorded");
  });
});
