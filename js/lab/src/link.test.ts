import { afterEach, describe, expect, it, vi } from "vitest";
import { FakeKernel, message, row } from "../test/fakes";
import { type AskControl, KernelLink } from "./link";

const neverAsked: AskControl = async () => {
  throw new Error("the control channel was asked");
};

function linkTo(kernel: FakeKernel, askControl: AskControl = neverAsked) {
  const begun = vi.fn();
  return { link: new KernelLink(kernel.connection, begun, askControl), begun };
}

const settled = () => vi.waitFor(() => undefined);
afterEach(() => vi.useRealTimers());

describe("the link to a kernel", () => {
  it("receives the runs that begin while it listens", () => {
    const kernel = new FakeKernel("k");
    const { link, begun } = linkTo(kernel);
    const comm = kernel.open();
    comm.receive(message(row("a")));
    comm.receive(message(row("a", { events: 3 })));
    expect(link.runs.newest.value?.events).toBe(3);
    expect(begun).toHaveBeenCalledTimes(1);
  });

  it("finds the comm that was opened before the page loaded, and requests all runs", async () => {
    const kernel = new FakeKernel("k", ["earlier"]);
    const { link, begun } = linkTo(kernel);
    await vi.waitFor(() => expect(kernel.attached).toHaveLength(1));
    const [comm] = kernel.attached;
    expect(comm?.sent).toEqual([{ type: "list" }]);
    comm?.receive(message(row("a"), row("b")));
    expect(link.runs.newestFirst.value).toHaveLength(2);
    expect(begun).not.toHaveBeenCalled();
  });

  it("asks on the control channel when a kernel that runs a cell does not answer", async () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel("k", ["earlier"], new Promise(() => {}));
    linkTo(kernel, async () => kernel.commInfo() as Awaited<ReturnType<AskControl>>);
    await vi.advanceTimersByTimeAsync(1900);
    expect(kernel.attached).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(kernel.attached.map(({ commId }) => commId)).toEqual(["earlier"]);
  });

  it("uses the control channel if the kernel reads only that, also for the panel", async () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel("k", ["earlier"], new Promise(() => {}));
    const { link } = linkTo(kernel, async () => kernel.commInfo() as Awaited<ReturnType<AskControl>>);
    await vi.advanceTimersByTimeAsync(2100);
    const [comm] = kernel.attached;
    comm?.receive({ ...message(row("a", { state: "paused" })), way: "control" });
    comm?.receive({ ...message(row("a", { state: "paused" })), way: "control" });
    link.request({ type: "open", run: "a" });
    expect(kernel.controlled).toEqual([
      { comm_id: "earlier", data: { method: "custom", content: { type: "panel", id: -1 } } },
      { comm_id: "earlier", data: { method: "custom", content: { type: "open", run: "a", id: -2 } } },
    ]);
    expect(comm?.sent).toEqual([{ type: "list" }]);
  });

  it("leaves the panel to the page's widgets if the kernel answers as usual", async () => {
    const kernel = new FakeKernel("k", ["earlier"]);
    linkTo(kernel);
    await vi.waitFor(() => expect(kernel.attached).toHaveLength(1));
    kernel.attached[0]?.receive({ ...message(row("a")), way: "control" });
    expect(kernel.controlled).toEqual([]);
  });

  it("does not use the control channel if the kernel answers at once", async () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel("k", ["earlier"]);
    const askControl = vi.fn(async () => undefined);
    linkTo(kernel, askControl);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(kernel.attached).toHaveLength(1);
    expect(askControl).not.toHaveBeenCalled();
  });

  it("asks again until it is answered", async () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel("k", ["earlier"]);
    linkTo(kernel);
    await vi.advanceTimersByTimeAsync(3500);
    const [comm] = kernel.attached;
    expect(comm?.sent).toEqual([{ type: "list" }, { type: "list" }]);
    comm?.receive(message(row("a")));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(comm?.sent).toHaveLength(2);
  });

  it("looks for the comm again when that was not answered", async () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel("k", ["earlier"], new Promise(() => {}));
    let asked = 0;
    linkTo(kernel, async () => (++asked > 1 ? (kernel.commInfo() as Awaited<ReturnType<AskControl>>) : undefined));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(asked).toBe(2);
    expect(kernel.attached.map(({ commId }) => commId)).toEqual(["earlier"]);
  });

  it("lists the runs of several engines, and asks each about its own on the right channel", () => {
    const kernel = new FakeKernel("k");
    const { link, begun } = linkTo(kernel);
    const [first, second] = [kernel.open("first"), kernel.open("second")];
    first.receive({ ...message(row("a")), way: "stdin" });
    second.receive({ ...message(row("b")), way: "control" });
    first.receive({ ...message(row("a", { state: "done" })), way: "stdin" });
    expect(link.runs.newestFirst.value.map(({ key, state }) => [key, state])).toEqual([
      ["b", "running"],
      ["a", "done"],
    ]);
    expect(begun).toHaveBeenCalledTimes(2);
    link.request({ type: "saved", run: "a" });
    link.request({ type: "saved", run: "b" });
    expect(first.sent).toEqual([{ type: "saved", run: "a" }]);
    expect(second.sent).toEqual([]);
    expect(kernel.controlled).toHaveLength(1);
    second.onClose();
    kernel.open("third").receive(message(row("c")));
    expect(link.runs.newestFirst.value.map(({ key }) => key)).toEqual(["c", "a"]);
  });

  it("asks engines for missing outputs when the runs of all are over", () => {
    vi.useFakeTimers();
    const kernel = new FakeKernel("k");
    const compare = vi.fn();
    const saved = { compare, write: vi.fn(), end: vi.fn() };
    new KernelLink(kernel.connection, vi.fn(), neverAsked, saved);
    const [first, second] = [kernel.open("first"), kernel.open("second")];
    first.receive({ ...message(row("a")), way: "engine" });
    second.receive({ ...message(row("b")), way: "engine" });
    first.receive({ ...message(row("a", { state: "done" })), way: "engine" });
    vi.advanceTimersByTime(60_000);
    expect(compare).not.toHaveBeenCalled();
    second.receive({ ...message(row("b", { state: "failed" })), way: "engine" });
    expect(compare).not.toHaveBeenCalled();
    vi.advanceTimersByTime(3000);
    expect(compare.mock.calls.map(([rows]) => rows.map(({ key }: { key: string }) => key))).toEqual([["b", "a"]]);
  });

  it("asks nothing of kernels in other languages", async () => {
    const kernel = new FakeKernel("k", [], Promise.resolve(), "R");
    linkTo(kernel);
    await settled();
    expect(kernel.asked).toBe(0);
  });

  it("drops the runs of a kernel that restarts, and receives the new ones", () => {
    const kernel = new FakeKernel("k");
    const { link } = linkTo(kernel);
    kernel.open().receive(message(row("a")));
    kernel.statusChanged.emit("restarting");
    expect(link.runs.newest.value).toBeUndefined();
    kernel.open("again").receive(message(row("b")));
    expect(link.runs.newest.value?.key).toBe("b");
  });

  it("keeps what it knows of a kernel that died, and says that it is lost", () => {
    const kernel = new FakeKernel("k");
    const { link } = linkTo(kernel);
    kernel.open().receive(message(row("a")));
    kernel.statusChanged.emit("dead");
    expect(link.lost.value).toBe(true);
    expect(link.runs.has("a")).toBe(true);
    kernel.attached[0]?.die();
    expect(() => link.request({ type: "open", run: "a" })).not.toThrow();
  });

  it("asks again when the connection is back", () => {
    const kernel = new FakeKernel("k");
    const { link } = linkTo(kernel);
    const comm = kernel.open();
    kernel.connectionStatusChanged.emit("disconnected");
    expect(link.lost.value).toBe(true);
    kernel.connectionStatusChanged.emit("connected");
    expect(link.lost.value).toBe(false);
    expect(comm.sent).toEqual([{ type: "list" }]);
  });

  it("refuses a kernel of another version with a reason, and ignores other messages", () => {
    const kernel = new FakeKernel("k");
    const { link } = linkTo(kernel);
    const comm = kernel.open();
    comm.receive({ type: "news" });
    expect(link.runs.newest.value).toBeUndefined();
    comm.receive({ ...message(row("a")), version: 2 });
    expect(link.problem.value).toContain("reload the page");
  });
});
