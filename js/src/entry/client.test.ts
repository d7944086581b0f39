import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { golden } from "../../test/golden";
import type { Request } from "../transport/wire";
import { Client } from "./client";

let sent: Request[];
let client: Client;

beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
  client = new Client(
    (request) => sent.push(request),
    () => {},
  );
});
afterEach(() => vi.useRealTimers());

/** Receives a batch with the first five events of the run `run-1`. */
function receive(state: string): void {
  const { content, buffer } = golden("small");
  client.receive({ ...content, status: { ...(content.status as object), state } }, [buffer]);
}

it("the client asks again if a run is silent for long: its last batch may be lost", () => {
  receive("running");
  vi.advanceTimersByTime(4900);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(sent).toMatchObject([{ type: "sync", run: "run-1", first: 5 }]);
  vi.advanceTimersByTime(60_000);
  expect(sent).toHaveLength(1);
});

it("the client restarts its waiting time after each batch", () => {
  receive("running");
  vi.advanceTimersByTime(4900);
  receive("waiting");
  vi.advanceTimersByTime(4900);
  expect(sent).toEqual([]);
});

it.each(["done", "failed"])("the client expects nothing more of a run that is %s", (state) => {
  receive("running");
  receive(state);
  vi.advanceTimersByTime(60_000);
  expect(sent).toEqual([]);
});

it("the client does not ask a kernel that is gone", () => {
  receive("running");
  client.lose();
  vi.advanceTimersByTime(60_000);
  expect(sent).toEqual([]);
});

describe("a stop", () => {
  const stop = (changes: Record<string, unknown> = {}) => {
    const { content } = golden("stop");
    client.receive({ ...content, stop: { ...(content.stop as object), ...changes } });
  };
  const here = () => sent.filter(({ type }) => type === "here");

  it("is confirmed at once, and for as long as it lasts", () => {
    receive("running");
    stop();
    expect(here()).toMatchObject([{ type: "here", run: "run-1", stop: 3 }]);
    stop({ frame: 1 });
    expect(here()).toHaveLength(1);
    vi.advanceTimersByTime(31_000);
    expect(here()).toHaveLength(3);
    stop({ id: 4 });
    expect(here().at(-1)).toMatchObject({ stop: 4 });
    client.receive(golden("stop_ended").content);
    vi.advanceTimersByTime(60_000);
    expect(here()).toHaveLength(4);
  });

  it("may arrive before the rest of a run, which is shown once its state has arrived", () => {
    stop();
    expect(sent.map(({ type }) => type)).toEqual(["sync", "here"]);
    expect(client.find("run-1")).toBeUndefined();
    receive("running");
    expect(client.find("run-1")?.debugger.stop?.id).toBe(3);
  });

  it("is ignored if it ended in a run without a view", () => {
    client.receive(golden("stop_ended").content);
    expect(sent).toEqual([]);
  });

  it("is no longer confirmed when the kernel is gone", () => {
    stop();
    client.lose();
    vi.advanceTimersByTime(60_000);
    expect(here()).toHaveLength(1);
  });
});
