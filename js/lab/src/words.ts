/** A run in words. */
import { plural, seconds } from "../../src/kit/format";
import type { RunRow } from "./wire";

const STATES = {
  running: "Running",
  paused: "Paused",
  waiting: "Waiting for effects",
  done: "Done",
  failed: "Failed",
} as const;

export function stateWords({ state }: RunRow): string {
  return STATES[state] ?? state;
}

export function barrierWords({ barrier, pending, waited }: RunRow): string {
  switch (barrier) {
    case "pending":
      return waited > 0 ? `effects pending ${seconds(waited)}` : "effects pending";
    case "timeout":
      return `${plural(pending.length, "call")} not drained after ${seconds(waited)}`;
    case "drained":
      return "effects drained";
    case "failed":
      return "effects failed";
    default:
      return "no effects";
  }
}

/** How its state is coloured. */
export function tone({ state, barrier }: RunRow): "active" | "warn" | "bad" | "good" {
  if (state === "failed" || barrier === "failed") return "bad";
  if (barrier === "timeout" || state === "paused") return "warn";
  return state === "running" || state === "waiting" ? "active" : "good";
}
