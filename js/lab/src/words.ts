/** A run in words. */
import { plural, seconds } from "../../src/kit/format";
import { wasEnded } from "../../src/kit/states";
import type { RunRow } from "./wire";

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
export function tone({ state, barrier }: RunRow): "active" | "warn" | "ended" | "bad" | "good" {
  if (state === "failed" || barrier === "failed") return "bad";
  if (barrier === "timeout" || state === "paused") return "warn";
  if (wasEnded(state)) return "ended";
  return state === "running" || state === "waiting" ? "active" : "good";
}
