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

const text = (selector: string) => [...host.querySelectorAll(selector)].map((found) => found.textContent);

function click(selector: string): void {
  act(() => host.querySelector<HTMLElement>(selector)?.click());
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
  it("says what to do where nothing was captured, no kernel is, or no notebook", () => {
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

  it("lists the runs in words, the newest first", () => {
    const { comm } = shown();
    const done = row("a", { state: "done", elapsed: 12.34, events: 30_000, barrier: "drained" });
    const going = row("b", { state: "paused", title: "<b>", events: 1, barrier: "pending", pending: ["f"], waited: 2 });
    act(() => comm.receive(message(done, going)));
    expect(text(".jaxdebug-Run-title")).toEqual(["<b>", "run a"]);
    expect(text(".jaxdebug-Run-state")).toEqual(["Paused · 1.00 s", "Done · 12.3 s"]);
    expect(text(".jaxdebug-Run-detail")).toEqual([
      "1 event · effects pending 2.00 s",
      "30\u2009000 events · effects drained",
    ]);
  });

  it("tells a run that its user ended from one that failed", () => {
    const { comm } = shown();
    const runs = (["failed", "stopped", "interrupted"] as const).map((state) => row(state, { state }));
    act(() => comm.receive(message(...runs)));
    expect(text(".jaxdebug-Run-state")).toEqual(["Interrupted · 1.00 s", "Stopped · 1.00 s", "Failed · 1.00 s"]);
    const dots = [...host.querySelectorAll<HTMLElement>(".jaxdebug-Dot")];
    expect(dots.map(({ dataset }) => dataset.tone)).toEqual(["ended", "ended", "bad"]);
  });

  it("shows the panel of the run that is chosen, which the kernel is asked to make ready", () => {
    const { comm } = shown();
    act(() => comm.receive(message(row("a"), row("b"))));
    click("[data-run=a] .jaxdebug-Run-main");
    expect(host.querySelector("[data-jaxdebug-run]")?.getAttribute("data-jaxdebug-run")).toBe("a");
    expect(comm.sent).toEqual([{ type: "open", run: "a" }]);
    click("[data-run=b] .jaxdebug-Run-main");
    expect(host.querySelectorAll("[data-jaxdebug-run]")).toHaveLength(1);
    click("[data-run=b] .jaxdebug-Run-main");
    expect(host.querySelector("[data-jaxdebug-run]")).toBeNull();
  });

  it("asks for the panel once, whatever else comes of the run, and again of the kernel that knows it after a reload", () => {
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
    click(".jaxdebug-Run-beside");
    expect(openBeside.mock.calls[0]?.[0]).toMatchObject({ key: "a" });
  });

  it("keeps the list of a kernel that is gone, and says so", () => {
    const { comm, kernel } = shown();
    act(() => comm.receive(message(row("a"))));
    act(() => kernel.statusChanged.emit("dead"));
    expect(text("[role=status]")).toEqual(["The kernel is gone. What had arrived is still here."]);
    expect(text(".jaxdebug-Run-title")).toEqual(["run a"]);
  });
});

describe("the item in the status bar", () => {
  const settings = signal({
    side: "right",
    beside: "split-right",
    showWhenRunBegins: false,
    statusBar: true,
  } as const);

  it("says how the effects of the newest run stand, and is not there before the first", () => {
    const { comm, followed } = shown();
    const open = vi.fn();
    act(() => render(<StatusItem followed={followed} settings={settings} onOpen={open} />, host));
    expect(host.textContent).toBe("");
    act(() => comm.receive(message(row("a", { state: "waiting", barrier: "pending", pending: ["f"], waited: 3 }))));
    expect(host.textContent).toBe("JAX: effects pending 3.00 s");
    act(() => comm.receive(message(row("a", { state: "paused", barrier: "pending", pending: ["f"], waited: 3 }))));
    expect(host.textContent).toBe("JAX: stopped");
    act(() => comm.receive(message(row("a", { state: "done", barrier: "drained" }))));
    expect(host.textContent).toBe("JAX: effects drained");
    act(() => comm.receive(message(row("a", { barrier: "timeout", pending: ["f", "g"], waited: 60 }))));
    expect(host.textContent).toBe("JAX: 2 calls not drained after 1 min 0 s");
    click("button");
    expect(open).toHaveBeenCalled();
  });
});
