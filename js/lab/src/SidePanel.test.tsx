import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it, vi } from "vitest";
import { FakeKernel, message, row } from "../test/fakes";
import type { Followed } from "./follow";
import { KernelLink } from "./link";
import { openRun } from "./RunOutput";
import { SidePanel } from "./SidePanel";
import { StatusItem } from "./StatusItem";

const host = document.createElement("div");
document.body.append(host);
afterEach(() => render(null, host));

/** Finds elements in the page and in the shadow root of `Themed`. */
function all(selector: string): HTMLElement[] {
  const places = [host, ...[...host.querySelectorAll("div")].flatMap(({ shadowRoot }) => shadowRoot ?? [])];
  return places.flatMap((place) => [...place.querySelectorAll<HTMLElement>(selector)]);
}

const text = (selector: string) => all(selector).map((found) => found.textContent);

function click(selector: string): void {
  act(() => all(selector)[0]?.click());
}

function shown() {
  const kernel = new FakeKernel("k");
  const followed = signal<Followed | undefined>({
    name: "one.ipynb",
    link: new KernelLink(
      kernel.connection,
      () => {},
      async () => undefined,
    ),
  });
  const openBeside = vi.fn();
  act(() => render(<SidePanel followed={followed} openBeside={openBeside} />, host));
  return { comm: kernel.open(), kernel, followed, openBeside };
}

describe("the side panel", () => {
  it("says what to do without captures, without a kernel or without a notebook", () => {
    const { followed } = shown();
    expect(host.textContent).toContain("%load_ext jax_debug_widgets");
    act(() => {
      followed.value = { name: "one.ipynb", link: undefined };
    });
    expect(host.textContent).toContain("This notebook has no kernel.");
    act(() => {
      followed.value = undefined;
    });
    expect(host.textContent).toContain("Open a notebook");
  });

  it("lists the runs in a table, the newest first, each with its cell, name, options and numbers", () => {
    const { comm } = shown();
    const facts = {
      name: "lr 3",
      cell: 4,
      asked: "--watch h",
      steps: 1000,
      value: "loss",
      step_ms: 5.123,
      findings: 2,
    };
    const done = row("a", { ...facts, state: "done", started: 10, last: 0.12345 });
    const going = row("b", { state: "paused", title: "<b>", started: 20, value: "loss", last: "NaN" });
    act(() => comm.receive(message(done, going)));
    expect(text(".run-open")).toEqual(["<b>", "In [4]lr 3"]);
    expect(text(".run-detail")).toEqual(["Paused", "2 findings--watch h"]);
    expect(text("td.col-steps")).toEqual(["–", "1\u2009000"]);
    expect(text("td.col-last")).toEqual(["NaN", "0.123"]);
    expect(text("th.col-last")).toEqual(["last loss"]);
    expect([text("td.col-ms")[1], text("td.col-findings")[1]]).toEqual(["5.12", "2"]);
  });

  it("distinguishes a run that its user ended from one that failed", () => {
    const { comm } = shown();
    const runs = (["failed", "stopped", "interrupted"] as const).map((state, i) => row(state, { state, started: i }));
    act(() => comm.receive(message(...runs)));
    expect(text(".run-detail")).toEqual(["Interrupted", "Stopped", "Failed"]);
    expect(all(".run-detail .bad-text").map(({ textContent }) => textContent)).toEqual(["Failed"]);
  });

  it("renames a run in place, requests a comparison of selected runs, and reports the result for a file", () => {
    const { comm } = shown();
    act(() => comm.receive(message(row("a"), row("b", { started: 1 }))));
    click("[aria-label='Rename run a']");
    const [field] = all(".run-field") as [HTMLInputElement];
    field.value = "slow";
    act(() => void field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })));
    expect(comm.sent.at(-1)).toEqual({ type: "rename", run: "a", name: "slow" });
    click("[aria-label='Compare run b']");
    expect(comm.sent).toHaveLength(1);
    click("[aria-label='Compare run a']");
    const { id } = comm.sent.at(-1) as { id: number };
    expect(comm.sent.at(-1)).toEqual({ type: "compare", id, runs: ["b", "a"] });
    act(() => comm.receive({ type: "compared", version: 1, id, problem: "These runs cannot be compared: so." }));
    expect(text("[role=alert]")).toEqual(["These runs cannot be compared: so."]);
  });

  it("shows the panel of the chosen run, which it requests from the kernel", () => {
    const { comm } = shown();
    act(() => comm.receive(message(row("a"), row("b"))));
    click("[data-run=a] .run-open");
    expect(host.querySelector("[data-jaxdebug-run]")?.getAttribute("data-jaxdebug-run")).toBe("a");
    expect(comm.sent).toEqual([{ type: "open", run: "a" }]);
    click("[data-run=b] .run-open");
    expect(host.querySelectorAll("[data-jaxdebug-run]")).toHaveLength(1);
    click("[data-run=b] .run-open");
    expect(host.querySelector("[data-jaxdebug-run]")).toBeNull();
  });

  it("requests the panel once, whatever else arrives, and again after a reload", () => {
    const known = signal<KernelLink | undefined>(undefined);
    const close = openRun(host, "a", () => known.value);
    expect(host.textContent).toContain("No open notebook's kernel knows this run.");
    const kernel = new FakeKernel("k");
    const link = new KernelLink(
      kernel.connection,
      () => {},
      async () => undefined,
    );
    const comm = kernel.open();
    known.value = link;
    comm.receive(message(row("a")));
    comm.receive(message(row("a", { events: 3 })));
    expect(comm.sent).toEqual([{ type: "open", run: "a" }]);
    close();
    expect(host.childElementCount).toBe(0);
  });

  it("opens a run beside the notebook", () => {
    const { comm, openBeside } = shown();
    act(() => comm.receive(message(row("a"))));
    click(".beside");
    expect(openBeside.mock.calls[0]?.[0]).toMatchObject({ key: "a" });
  });

  it("keeps the list of a kernel that is gone, and says so", () => {
    const { comm, kernel } = shown();
    act(() => comm.receive(message(row("a"))));
    act(() => kernel.statusChanged.emit("dead"));
    expect(text("[role=status]")).toEqual(["The kernel is gone. What had arrived is still here."]);
    expect(text(".run-open")).toEqual(["run a"]);
  });
});

describe("the item in the status bar", () => {
  const settings = signal({
    side: "right",
    beside: "split-right",
    showWhenRunBegins: false,
    statusBar: true,
  } as const);

  it("shows the state of the effects of the newest run, and is hidden before the first", () => {
    const { comm, followed } = shown();
    const open = vi.fn();
    act(() => render(<StatusItem followed={followed} settings={settings} onOpen={open} />, host));
    expect(host.textContent).toBe("");
    act(() => comm.receive(message(row("a", { state: "waiting", barrier: "pending", pending: ["f"], waited: 3 }))));
    expect(host.textContent).toBe("JAX: waiting for effects 3.00 s");
    act(() => comm.receive(message(row("a", { state: "paused", barrier: "pending", pending: ["f"], waited: 3 }))));
    expect(host.textContent).toBe("JAX: paused");
    act(() => comm.receive(message(row("a", { state: "done", barrier: "drained" }))));
    expect(host.textContent).toBe("JAX: done");
    act(() => comm.receive(message(row("a", { state: "failed", barrier: "idle" }))));
    expect(host.textContent).toBe("JAX: failed");
    act(() => comm.receive(message(row("a", { barrier: "timeout", pending: ["f", "g"], waited: 60 }))));
    expect(host.textContent).toBe("JAX: effects of 2 calls missing after 1 min 0 s");
    click("button");
    expect(open).toHaveBeenCalled();
  });
});
