import { expect, it } from "vitest";
import { goldenBatch } from "../../test/golden";
import type { CallMessage } from "../transport/wire";
import { Flights } from "./flights";

const [CALL] = goldenBatch("small").calls as [CallMessage];

function call(ready: number | null, flight: CallMessage["flight"], thread = "main"): CallMessage {
  return { ...CALL, ready, flight, thread };
}

it("the time of a separate call is from its dispatch until its outputs were ready", () => {
  const flights = new Flights();
  const own = call(2.5, [2, 1, 1]);
  flights.add(own);
  expect(flights.ran(own)).toEqual({ seconds: 0.5, of: 1 });
  expect(flights.ran(call(2.6, null))).toBe(null);
});

it("the time of consecutive calls is their mean, as soon as there are enough", () => {
  const flights = new Flights();
  const calls = [3, 3, 3, 6].map((ready, i) => call(ready, [2, i + 1, 4]));
  flights.add(call(9, [2, 9, 1], "worker"));
  for (const one of calls.slice(0, 3)) flights.add(one);
  expect(calls.map((one) => flights.ran(one))).toEqual([null, null, null, null]);
  for (const one of [...calls].reverse()) flights.add(one);
  expect(calls.map((one) => flights.ran(one)?.seconds)).toEqual([1, 1, 1, 1]);
});
