import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeModel } from "../../test/fakes";
import { EventLog } from "../store/events";
import panel from "./panel";
import { type Registry, RUN_ATTRIBUTE } from "./registry";

let cleanups: (() => void)[] = [];

function start(model = new FakeModel()): FakeModel {
  cleanups.push(panel.initialize({ model }));
  return model;
}

function addOutput(run: string, parent: ParentNode = document.body): HTMLElement {
  const output = document.createElement("div");
  output.setAttribute(RUN_ATTRIBUTE, run);
  output.innerHTML = "<p>snapshot</p><p hidden>already hidden</p>";
  parent.append(output);
  return output;
}

/** Attaches an output, as the script in an output does. */
function pageAttach(output: HTMLElement): void {
  (window.__jaxDebug as Registry).attach(output);
}

function live(output: HTMLElement): HTMLElement | null {
  return output.lastElementChild?.shadowRoot?.querySelector<HTMLElement>(".panel") ?? null;
}

/** Waits until the registry has noticed the changes of the page, and a frame was drawn. */
async function settled(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 25));
}

beforeEach(() => {
  delete window.__jaxDebug;
  document.body.innerHTML = "";
});
afterEach(() => {
  for (const cleanup of cleanups) cleanup();
  cleanups = [];
});

describe("an output", () => {
  it("keeps its snapshot until the first batch of its run arrives", async () => {
    const output = addOutput("run-1");
    const model = start();
    expect(model.sent).toEqual([{ type: "sync", run: "run-1", first: 0, id: 1 }]);
    expect(output.children).toHaveLength(2);
    model.receive("small");
    expect(output.children).toHaveLength(3);
    expect((output.firstElementChild as HTMLElement).hidden).toBe(true);
    await settled();
    expect(live(output)?.dataset).toMatchObject({ run: "run-1", events: "5", state: "done" });
  });

  it("keeps it for good when the kernel does not know the run", async () => {
    const output = addOutput("run-1");
    const model = start();
    model.receive("error", { id: 1 });
    await settled();
    expect(output.innerHTML).toBe("<p>snapshot</p><p hidden>already hidden</p>".replace("hidden>", 'hidden="">'));
    expect(model.sent).toHaveLength(1);
  });

  it("waits for the bundle if it comes first", () => {
    const output = addOutput("run-1");
    output.remove();
    window.__jaxDebug = { waiting: [output] };
    const model = start();
    model.receive("small");
    document.body.append(output);
    expect(model.sent).toHaveLength(1);
  });

  it("gets its snapshot back when it leaves the page, and its view when it returns", async () => {
    const output = addOutput("run-1");
    const model = start();
    model.receive("small");
    live(output)?.querySelector<HTMLElement>("#tab-calls")?.click();
    output.remove();
    await settled();
    expect([...output.children].map((child) => (child as HTMLElement).hidden)).toEqual([false, true]);
    document.body.append(output);
    await settled();
    expect(live(output)?.querySelector("[aria-selected=true]")?.id).toBe("tab-calls");
  });

  it("keeps the state of its predecessor when it is rewritten", async () => {
    const before = addOutput("run-1");
    const model = start();
    model.receive("small");
    live(before)?.querySelector<HTMLElement>("#tab-calls")?.click();
    before.remove();
    const after = addOutput("run-1");
    await settled();
    expect(live(after)?.querySelector("[aria-selected=true]")?.id).toBe("tab-calls");
    expect(live(before)).toBeNull();
  });

  it("is moved unchanged, before anything is drawn, to the output that replaces it", async () => {
    const cell = document.createElement("div");
    document.body.append(cell);
    cell.append(addOutput("run-1"));
    const model = start();
    model.receive("small");
    await settled();
    const view = live(cell.firstElementChild as HTMLElement);
    view?.querySelector<HTMLElement>("#tab-streams")?.click();
    await settled();
    const filter = view?.querySelector<HTMLInputElement>("[data-testid=filter]");
    const list = view?.querySelector<HTMLElement>(".viewport");
    expect(list).toBeTruthy();
    filter?.focus();
    if (list) list.scrollTop = 40;
    list?.dispatchEvent(new Event("scroll"));

    cell.replaceChildren();
    if (list) list.scrollTop = 0;
    const after = addOutput("run-1");
    cell.append(after);
    pageAttach(after);
    expect(live(after)).toBe(view);
    expect(list?.scrollTop).toBe(40);
    expect((after.lastElementChild as HTMLElement).shadowRoot?.activeElement).toBe(filter);
    expect((after.firstElementChild as HTMLElement).hidden).toBe(true);
    await settled();
    expect(live(after)).toBe(view);
  });

  it("can report what was seen of its run when the kernel is gone", () => {
    addOutput("run-1");
    const model = start();
    model.receive("small");
    model.listeners.get("comm:close")?.();
    const seen = (window.__jaxDebug as Registry).lastOf("run-1");
    expect(seen?.events).toBe(5);
    expect(seen?.streams.flatMap(({ lines }) => lines).length).toBeGreaterThan(0);
    expect((window.__jaxDebug as Registry).lastOf("nobody")).toBeUndefined();
  });

  it("is freed when it left the page and is large, and requested again when it returns", async () => {
    const output = addOutput("run-1");
    const model = start();
    model.receive("small");
    vi.spyOn(EventLog.prototype, "length", "get").mockReturnValue(1_000_001);
    output.remove();
    await settled();
    model.receive("small");
    vi.restoreAllMocks();
    document.body.append(output);
    await settled();
    expect(live(output)).toBeNull();
    expect(model.sent.at(-1)).toMatchObject({ type: "sync", run: "run-1", first: 0 });
    model.receive("small");
    await settled();
    expect(live(output)?.dataset.events).toBe("5");
  });

  it("may be on the page twice", async () => {
    const outputs = [addOutput("run-1"), addOutput("run-1")];
    start().receive("small");
    await settled();
    for (const output of outputs) expect(live(output)?.dataset.events).toBe("5");
  });

  it("finds its kernel among several", async () => {
    const output = addOutput("run-1");
    const [one, other] = [start(), start()];
    one.receive("error", { id: 1 });
    other.receive("small");
    await settled();
    expect(live(output)?.dataset.events).toBe("5");
  });

  it("can be attached by its script", async () => {
    const model = start();
    model.receive("small");
    const output = addOutput("run-1");
    const page = window.__jaxDebug;
    if (page && "attach" in page) page.attach(output);
    expect(live(output)).not.toBeNull();
  });
});

describe("a model", () => {
  it("says that the kernel is gone, and removes this when it is back", async () => {
    const output = addOutput("run-1");
    const model = start();
    model.receive("small");
    model.listeners.get("comm_live_update")?.();
    await settled();
    expect(live(output)?.dataset.connected).toBe("false");
    expect(model.sent.filter(({ type }) => type === "sync").at(-1)).toMatchObject({ first: 5 });
    model.receive("small");
    await settled();
    expect(live(output)?.dataset.connected).toBe("true");
  });

  it("knows that its kernel is gone when a request cannot be sent", async () => {
    const output = addOutput("run-1");
    const model = start();
    model.receive("small");
    await settled();
    expect(live(output)?.dataset.connected).toBe("true");
    vi.spyOn(model, "send").mockImplementation(() => {
      throw new Error("Cannot send");
    });
    live(output)?.querySelector<HTMLElement>("[data-testid=tab-source]")?.click();
    await settled();
    expect(live(output)?.dataset.connected).toBe("false");
  });

  it("knows that its kernel is gone when the kernel was shut down", async () => {
    const slots = new Set<() => void>();
    const disposed = {
      connect: (slot: () => void) => slots.add(slot),
      disconnect: (slot: () => void) => slots.delete(slot),
    };
    const output = addOutput("run-1");
    const model = Object.assign(new FakeModel(), {
      widget_manager: { kernel: { clientId: "page", username: "me", disposed } },
    });
    const cleanup = panel.initialize({ model });
    model.receive("small");
    await settled();
    expect(live(output)?.dataset.connected).toBe("true");
    for (const slot of slots) slot();
    await settled();
    expect(live(output)?.dataset.connected).toBe("false");
    cleanup();
    expect(slots.size).toBe(0);
  });

  it("offers the file of a run whose kernel is gone", async () => {
    const output = addOutput("run-1");
    output.insertAdjacentHTML("beforeend", '<div data-jaxdebug-file="run.jdw">In a new kernel</div>');
    const file = output.lastElementChild as HTMLElement;
    const model = start();
    model.receive("small");
    await settled();
    expect(file.hidden).toBe(true);
    model.listeners.get("comm_live_update")?.();
    expect(file.hidden).toBe(false);
    model.receive("small");
    expect(file.hidden).toBe(true);
    model.listeners.get("comm:close")?.();
    expect([file.hidden, (output.firstElementChild as HTMLElement).hidden]).toEqual([false, true]);
  });

  it("removes its listeners and leaves the view unchanged", async () => {
    const output = addOutput("run-1");
    const model = new FakeModel();
    const cleanup = panel.initialize({ model });
    model.receive("small");
    cleanup();
    await settled();
    expect(model.listeners.size).toBe(0);
    expect(live(output)?.dataset).toMatchObject({ connected: "false", events: "5" });
  });

  it("shows an error for a message that it cannot read, and continues", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const output = addOutput("run-1");
    const model = start();
    model.receive("small");
    model.receive("small", { version: 99 });
    await settled();
    expect(live(output)?.querySelector("[data-testid=notes]")?.textContent).toContain("reload the page");
    expect(error).toHaveBeenCalledOnce();
  });

  it("uses the control channel if the kernel says so", () => {
    const sendControlMessage = vi.fn();
    const kernel = { clientId: "page", username: "me", sendControlMessage };
    const model = Object.assign(new FakeModel("", { way: "control", comm_id: "comm-1" }), {
      widget_manager: { kernel },
    });
    addOutput("run-1");
    start(model);
    expect(model.sent).toEqual([]);
    expect(sendControlMessage.mock.calls[0]?.[0]).toMatchObject({
      channel: "control",
      header: { msg_type: "comm_msg", session: "page" },
      content: { comm_id: "comm-1", data: { method: "custom", content: { type: "sync", run: "run-1" } } },
    });
  });

  it("renders its own run if the host isolates outputs", async () => {
    const model = start(new FakeModel("run-1"));
    const el = document.createElement("div");
    document.body.append(el);
    const cleanup = panel.render({ model, el });
    expect(el.textContent).toContain("run the cell again");
    model.receive("small");
    await settled();
    expect(el.querySelector("p")?.hidden).toBe(true);
    expect(live(el.firstElementChild as HTMLElement)?.dataset.events).toBe("5");
    cleanup();
    expect(el.children).toHaveLength(0);
  });

  it("renders its run in a shadow root, and nothing if the output is on the page", async () => {
    const model = start(new FakeModel("run-1"));
    const root = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
    const el = root.appendChild(document.createElement("div"));
    const cleanup = panel.render({ model, el });
    model.receive("small");
    await settled();
    expect(live(el.firstElementChild as HTMLElement)?.dataset.events).toBe("5");
    cleanup();
    const output = addOutput("run-1");
    panel.render({ model, el });
    await settled();
    expect([el.children.length, live(output)?.dataset.events]).toEqual([0, "5"]);
  });

  it("renders nothing if the output is beside it in a shadow root, and makes that live", async () => {
    const layout = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
    const output = addOutput("run-1", layout);
    const el = layout.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
    const inner = el.appendChild(document.createElement("div"));
    const model = start(new FakeModel("run-1"));
    panel.render({ model, el: inner });
    model.receive("small");
    await settled();
    expect([inner.children.length, live(output)?.dataset.events]).toEqual([0, "5"]);
    output.remove();
    const after = addOutput("run-1", layout);
    await settled();
    expect(live(after)?.dataset.events).toBe("5");
  });

  it("asks only the model of its own run for news if each run has one", async () => {
    const first = start(new FakeModel("run-1"));
    const second = start(new FakeModel("run-2"));
    addOutput("run-2");
    await settled();
    expect(first.sent).toEqual([]);
    expect(second.sent).toMatchObject([{ type: "sync", run: "run-2" }]);
  });

  it("shows the view of another run that marimo writes into its output, from its beginning", async () => {
    const output = addOutput("run-1");
    start(new FakeModel("run-1")).receive("small");
    await settled();
    live(output)?.querySelector<HTMLElement>("#tab-calls")?.click();
    output.setAttribute(RUN_ATTRIBUTE, "run-2");
    await settled();
    expect(live(output)).toBeNull();
    expect([...output.children].map((child) => (child as HTMLElement).hidden)).toEqual([false, true]);
    start(new FakeModel("run-2")).receive("small", { run: "run-2" });
    await settled();
    expect(live(output)?.dataset.run).toBe("run-2");
    expect(live(output)?.querySelector("[aria-selected=true]")?.id).toBe("tab-overview");
  });

  it("takes over the outputs of a removed model unchanged if it has their run", async () => {
    const output = addOutput("run-1");
    const first = new FakeModel("run-1");
    const end = panel.initialize({ model: first });
    first.receive("small");
    live(output)?.querySelector<HTMLElement>("#tab-calls")?.click();
    end();
    const second = start(new FakeModel("run-1"));
    await settled();
    expect(live(output)?.dataset.connected).toBe("false");
    second.receive("small");
    await settled();
    expect(output.children).toHaveLength(3);
    expect(live(output)?.dataset).toMatchObject({ connected: "true", events: "5" });
    expect(live(output)?.querySelector("[aria-selected=true]")?.id).toBe("tab-calls");
  });

  it("loads its module once for a page", async () => {
    vi.resetModules();
    expect((await import("./panel")).default).toBe(panel);
  });
});
