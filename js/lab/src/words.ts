/** Describes a run in words. */
import { plural, seconds } from "../../src/kit/format";
import { stateWords, wasEnded } from "../../src/kit/states";
import type { RunRow } from "./wire";

/** Says what a run does, and which of its effects are missing. */
export function statusWords({ state, barrier, pending, waited }: RunRow): string {
  if (state === "failed") return "failed";
  if (barrier === "failed") return "an effect failed";
  if (barrier === "timeout") return `effects of ${plural(pending.length, "call")} missing after ${seconds(waited)}`;
  if (state === "waiting") return `waiting for effects${waited > 0 ? ` ${seconds(waited)}` : ""}`;
  return stateWords(state).toLowerCase();
}

/** Returns the colour of its state. */
export function tone({ state, barrier }: RunRow): "active" | "warn" | "ended" | "bad" | "good" {
  if (state === "failed" || barrier === "failed") return "bad";
  if (barrier === "timeout" || state === "paused") return "warn";
  if (wasEnded(state) || state === "loaded") return "ended";
  return state === "running" || state === "waiting" ? "active" : "good";
}
