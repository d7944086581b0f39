import { afterEach, beforeEach, expect, it, vi } from "vitest";
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

/** A batch with the first five events of run-1. */
function receive(state: string): void {
  const { content, buffer } = golden("small");
  client.receive({ ...content, status: { ...(content.status as object), state } }, [buffer]);
}

it("asks again when a run that goes on says nothing for long: its last batch may be lost", () => {
  receive("running");
  vi.advanceTimersByTime(4900);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(200);
  expect(sent).toMatchObject([{ type: "sync", run: "run-1", first: 5 }]);
  vi.advanceTimersByTime(60_000);
  expect(sent).toHaveLength(1);
});

it("waits anew after each batch", () => {
  receive("running");
  vi.advanceTimersByTime(4900);
  receive("waiting");
  vi.advanceTimersByTime(4900);
  expect(sent).toEqual([]);
});

it.each(["done", "failed"])("expects nothing more of a run that is %s", (state) => {
  receive("running");
  receive(state);
  vi.advanceTimersByTime(60_000);
  expect(sent).toEqual([]);
});

it("does not ask a kernel that is gone", () => {
  receive("running");
  client.lose();
  vi.advanceTimersByTime(60_000);
  expect(sent).toEqual([]);
});
