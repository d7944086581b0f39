import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it } from "vitest";
import { TestRun } from "../../../test/fakes";
import { goldenBatch } from "../../../test/golden";
import { createUi } from "../../store/ui";
import type { ModuleMessage, StatusMessage } from "../../transport/wire";
import { Later } from "./Later";
import { LaterViews } from "./load";
import * as views from "./views";

const hosts: HTMLElement[] = [];
afterEach(() => {
  for (const host of hosts.splice(0)) {
    render(null, host);
    host.remove();
  }
});

/** Returns lazy views whose bundle has the text `text`. A bundle with the text "broken" raises. */
function someViews(): LaterViews {
  return new LaterViews(async (text) => {
    if (text === "broken") throw new SyntaxError("unexpected end");
    return views;
  });
}

function show(from: LaterViews, changes: Partial<StatusMessage> = {}) {
  const run = new TestRun();
  const status = { ...goldenBatch("empty").status, ...changes };
  run.store.apply(goldenBatch("empty", { status }));
  const host = document.createElement("div");
  hosts.push(host);
  document.body.append(host);
  const props = { run: run.store, ui: createUi(), status, dark: false };
  act(() => render(<Later name="Source" props={props} from={from} />, host));
  return {
    run,
    host,
    ids: () => [...host.querySelectorAll<HTMLElement>("[data-testid]")].map((e) => e.dataset.testid),
  };
}

async function answer(run: TestRun, text: string): Promise<void> {
  const message: ModuleMessage = { type: "module", version: 1, run: "run-1", id: 1, name: "views", text };
  await act(async () => run.answer(message));
}

const ASKED = 'module {"type":"module","name":"views"}';

it("a later bundle is loaded once for all panels", async () => {
  const from = someViews();
  const [one, two] = [show(from, { commands: "by its own thread" }), show(from)];
  expect(one.run.asked).toEqual([ASKED]);
  expect(two.run.asked).toEqual([]);
  expect(one.ids()).toEqual(["view-loading"]);
  expect(one.host.textContent).toBe("Loading the Source view …The kernel answers clicks by its own thread.");
  await answer(one.run, "good");
  expect(one.ids()).toEqual(["nothing-watched"]);
  expect(two.ids()).toEqual(["nothing-watched"]);
  expect(show(from).run.asked).toEqual([]);
});

it("a later bundle that fails to load shows the reason, and loads again on request", async () => {
  const { run, host, ids } = show(someViews());
  await answer(run, "broken");
  expect(ids()).toEqual(["view-failed"]);
  expect(host.textContent).toContain("unexpected end");
  expect(run.asked).toHaveLength(1);
  act(() => host.querySelector("button")?.click());
  expect(ids()).toEqual(["view-loading"]);
  expect(run.asked).toEqual([ASKED, ASKED]);
  await answer(run, "good");
  expect(ids()).toEqual(["nothing-watched"]);
});

it("a later bundle that fails to load shows the message of the kernel", async () => {
  const { run, host } = show(someViews());
  await act(async () => run.answer("the front end is not built"));
  expect(host.textContent).toContain("the front end is not built");
});

it("a later bundle says that it needs the kernel, and is requested again when the kernel is back", async () => {
  const { run, ids } = show(someViews());
  act(() => {
    run.store.lose();
    run.draw();
  });
  expect(ids()).toEqual(["view-needs-kernel"]);
  act(() => {
    run.store.apply(goldenBatch("empty"));
    run.draw();
  });
  expect(ids()).toEqual(["view-loading"]);
  expect(run.asked).toEqual([ASKED, ASKED]);
});

it("a later bundle is requested from another kernel if the first is gone", async () => {
  const from = someViews();
  const one = show(from);
  one.run.store.lose();
  const two = show(from);
  expect(two.run.asked).toEqual([ASKED]);
  await answer(two.run, "good");
  expect(two.ids()).toEqual(["nothing-watched"]);
});

it("a loaded bundle remains available without the kernel", () => {
  const from = someViews();
  from.provide(views);
  const { run, ids } = show(from);
  act(() => {
    run.store.lose();
    run.draw();
  });
  expect(ids()).toEqual(["nothing-watched"]);
});
