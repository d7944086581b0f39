import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Request } from "../transport/wire";
import { EngineRequests } from "./engine";

const SYNC: Request = { type: "sync", run: "a", first: 0, id: 1 };
const ROWS: Request = { type: "rows", run: "a", first: 0, count: 9, id: 2 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function engines() {
  const sent: [first: Request[], second: Request[]] = [[], []];
  const [first, second] = sent.map((to) => new EngineRequests((request) => void to.push(request))) as [
    EngineRequests,
    EngineRequests,
  ];
  return { first, second, sent };
}

describe("the page's own requests to engines", () => {
  it("wait until the runs of all engines are over, unlike the user's requests", () => {
    const { first, second, sent } = engines();
    first.request(SYNC);
    first.setActive(true);
    second.setActive(true);
    second.request(SYNC);
    second.request(ROWS);
    vi.advanceTimersByTime(60_000);
    expect(sent).toEqual([[], [ROWS]]);
    first.setActive(false);
    vi.advanceTimersByTime(60_000);
    expect(sent[0]).toEqual([]);
    second.setActive(false);
    vi.advanceTimersByTime(2900);
    expect(sent[0]).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(sent).toEqual([[SYNC], [ROWS, SYNC]]);
    first.request(SYNC);
    first.setActive(true); // The next cell.
    vi.advanceTimersByTime(60_000);
    expect(sent[0]).toEqual([SYNC]);
    first.end();
    second.end();
  });

  it("are sent soon if no run is in progress, as after a reload of the page", () => {
    const { first, second, sent } = engines();
    first.request(SYNC);
    vi.advanceTimersByTime(2900);
    expect(sent[0]).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(sent[0]).toEqual([SYNC]);
    first.end();
    second.end();
  });

  it("are sent to one engine when the other is gone", () => {
    const { first, second, sent } = engines();
    second.setActive(true);
    vi.advanceTimersByTime(60_000);
    first.request(SYNC);
    expect(sent[0]).toEqual([]);
    second.end();
    expect(sent[0]).toEqual([SYNC]);
    first.end();
  });
});
