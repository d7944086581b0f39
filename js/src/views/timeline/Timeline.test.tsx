import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { all, click, find, press, showTab, texts } from "../../../test/screen";
import { EventLog } from "../../store/events";
import { distinct, moved, roomy, within, zoomed } from "./axis";
import { densityOf } from "./density";

const seen = () => [Number(find(".timeline").dataset.from), Number(find(".timeline").dataset.to)];

describe("the timeline", () => {
  it("has a bar for each call, divided by activity", () => {
    showTab("timeline", goldenBatch("small"));
    expect(find(".call-bar").getAttribute("aria-label")).toBe(
      "call 1 step: trace 0.21 s, lower 40 ms, compile 0.83 s, in flight 0.52 s, effects 50 ms",
    );
    expect(texts(".time-name").slice(1)).toEqual(["calls", "waits", "loss", "x"]);
  });

  it("limits all views to the chosen call, until it is chosen again", () => {
    const { ui } = showTab("timeline", goldenBatch("small"));
    click(".call-bar");
    expect([ui.onlyCall.value, ui.call.value]).toEqual([1, 1]);
    expect(find("[data-testid=only-call]").textContent).toBe("call 1 step ×");
    click(".call-bar");
    expect(all("[data-testid=only-call]")).toHaveLength(0);
  });

  it("has a row for each device, and shows waiting times", () => {
    showTab("timeline", goldenBatch("steps"));
    expect(texts(".time-name").slice(1)).toEqual(["calls", "waits", "v", "cpu:0", "cpu:1"]);
    expect(find("[data-testid=device-ticks]").getAttribute("aria-label")).toBe("16 prints of 2 devices");
    expect(texts(".time-barrier .span")).toHaveLength(1);
    expect(find(".time-barrier .span").title).toBe("Waited 50 ms for effects");
  });

  it("has a row for each thread that made calls or ran a host function, and shows what the program waited for", () => {
    showTab("timeline", goldenBatch("threads"));
    expect(texts(".time-name").slice(1)).toEqual(["main", "loader-0", "waits", "ƒ XLA 1", "ƒ XLA 2", "host"]);
    expect(texts(".time-calls")).toEqual(["step", "step"]);
    expect(all(".time-barrier .span").map((span) => span.title)).toEqual([
      "Waited 0.63 s for outputs in jax.block_until_ready, main",
      "Waited 0.25 s for effects in jax.effects_barrier, main",
      "Waited 50 ms for effects",
    ]);
    expect(find("[data-testid=thread-bars]").getAttribute("aria-label")).toBe("Host functions on 2 threads");
  });

  it("says how the visible time was spent", () => {
    showTab("timeline", goldenBatch("small"));
    expect(find("[data-testid=totals]").textContent).toMatch(
      /^Of the .* shown.*trace 0.21 s.*compile 0.83 s.*in flight 0.52 s/,
    );
    const drawn = new Set(all(".call-bar .span").map(({ classList }) => classList[1]));
    expect(new Set(all("[data-testid=totals] .span").map(({ classList }) => classList[1]))).toEqual(drawn);
  });

  it("zooms to a call", () => {
    showTab("timeline", goldenBatch("small"));
    press(".call-bar", "z");
    expect(seen()[0]).toBeCloseTo(0.45);
    expect(seen()[1]).toBeCloseTo(2.2, 1);
  });

  it("is zoomed and moved by keys", () => {
    showTab("timeline", goldenBatch("small"));
    const [, whole] = seen() as [number, number];
    press(".timeline", "+");
    const [from, to] = seen() as [number, number];
    expect(to - from).toBeCloseTo(0.6 * whole);
    press(".timeline", "ArrowLeft");
    expect(seen()[0]).toBeLessThan(from);
    press(".timeline", "0");
    expect(seen()).toEqual([0, whole]);
  });
});

it("zooming the timeline keeps the point under the pointer, within the run", () => {
  expect(zoomed({ from: 0, to: 10 }, 0.5, 0.2)).toEqual({ from: 1, to: 6 });
  expect(moved({ from: 0, to: 10 }, 0.5)).toEqual({ from: 5, to: 15 });
  expect(within({ from: 5, to: 15 }, { from: 0, to: 12 })).toEqual({ from: 2, to: 12 });
});

it("the timeline counts the events of each pixel, of a sample if there are many", () => {
  const log = new EventLog();
  const { events } = goldenBatch("large");
  log.append(events, 0, 0);
  const one = densityOf(log, "site", { from: 0, to: 1 }, 10);
  expect([...(one.get(1) ?? [])]).toEqual(Array(10).fill(500));
  for (let i = 1; i < 50; i++) log.append({ ...events, time: events.time.map((time) => time + i) }, i * 10_000, 0);
  const total = [...densityOf(log, "site", { from: 0, to: 50 }, 10).values()].flatMap((bins) => [...bins]);
  expect(total.reduce((a, b) => a + b) / 500_000).toBeCloseTo(1, 1);
});

it("the zoomed timeline stays during a run until its space is full", () => {
  const times = Array.from({ length: 100 }, (_, i) => 1 + i / 100);
  const ends = times.map(roomy);
  expect(times.every((now, i) => now < (ends[i] ?? 0) && (ends[i] ?? 0) < 1.2 * now)).toBe(true);
  expect(new Set(ends).size).toBeLessThan(8);
});

it("the timeline leaves out thin bars directly beside the previous one", () => {
  const bars = Array.from({ length: 2000 }, (_, i) => ({ from: i, to: i + 0.5, row: i % 2, bad: i === 3 }));
  const drawn = distinct(bars, { from: 0, to: 2000 }, ({ bad }) => bad);
  expect(drawn.length).toBeLessThan(805);
  expect(drawn).toContain(bars[3]);
  expect(distinct(bars, { from: 10, to: 20 }).map(({ from }) => from)).toEqual([
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
  ]);
  const nested = [
    { from: 0, to: 100 },
    { from: 10, to: 90 },
  ];
  expect(distinct(nested, { from: 0, to: 100 })).toEqual(nested);
});
