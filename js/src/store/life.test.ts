import { describe, expect, it } from "vitest";
import { goldenBatch } from "../../test/golden";
import type { BarrierMessage, CallMessage } from "../transport/wire";
import type { Ran } from "./flights";
import { stagesOf } from "./life";

const BARRIER: BarrierMessage = { state: "pending", pending: ["step"], waited: 1, timeout: 30, waits: [] };
const [CALL] = goldenBatch("small").calls as [CallMessage];

function words(
  changes: Partial<CallMessage>,
  barrier: Partial<BarrierMessage> = {},
  now = 3,
  ran: Ran | null = { seconds: 0.52, of: 1 },
): string[] {
  return stagesOf({ ...CALL, ...changes }, { ...BARRIER, ...barrier }, now, ran).map(({ name, detail, state }) =>
    `${name} [${state}] ${detail}`.trim(),
  );
}

describe("the stages of a call", () => {
  it("end with its effects drained", () => {
    expect(words({})).toEqual([
      "traced [done] 0.21 s",
      "lowered [done] 40 ms",
      "compiled [done] 0.83 s",
      "dispatched [done]",
      "ran [done] 0.52 s",
      "outputs ready [done]",
      "effects [done] arrived 50 ms later",
    ]);
  });

  it("tell effects that arrived with the outputs, or before", () => {
    for (const drained of [2, 1.5]) {
      expect(words({ ready: 2, drained }).at(-1)).toBe("effects [done] arrived with the outputs");
    }
  });

  it("stop the time while the debugger pauses the call", () => {
    const held = stagesOf({ ...CALL, ready: null }, BARRIER, 120, null, true);
    expect(held.find(({ name }) => name === "running")).toMatchObject({
      detail: "held by the debugger",
      state: "wait",
    });
  });

  it("tell the time of Numba separately from lowering", () => {
    expect(words({ numba: 9.8 }).slice(0, 3)).toEqual([
      "traced [done] 0.21 s",
      "Numba [done] 9.80 s",
      "lowered [done] 40 ms",
    ]);
  });

  it("tell the time of each of several calls in flight together, and of no others", () => {
    expect(words({}, {}, 3, { seconds: 0.0051, of: 92 })).toContain("ran [done] 5.1 ms a call");
    expect(words({}, {}, 3, null)).toContain("ran [done]");
  });

  it("show how long effects are pending after the outputs", () => {
    expect(words({ drained: null }).at(-1)).toBe("effects [wait] waiting 0.90 s");
    const two = words({ drained: null }, { pending: ["step", "step"] });
    expect(two.at(-1)).toBe("effects [wait] 2 calls waiting for them (step, step) 0.90 s");
    expect(words({ drained: null }, { state: "timeout" }).at(-1)).toBe("effects [bad] not arrived after 30.0 s");
  });

  it("say that a call needed no compilation", () => {
    const stages = words({ trace: null, lower: null, compile: null, ready: null, drained: null });
    expect(stages.slice(0, 3)).toEqual(["compiled [done] cached", "dispatched [done]", "running [now] 2.50 s"]);
  });

  it("tell that a call which has not returned may be running", () => {
    const stages = words({ state: "dispatched", dispatched: null, ready: null, drained: null });
    expect(stages.slice(2)).toEqual([
      "compiled [done] 0.83 s",
      "dispatched [done]",
      "running [now] 1.42 s",
      "outputs ready [todo]",
      "effects [wait] waiting",
    ]);
  });

  it("show a call that is being prepared", () => {
    const stages = words({
      state: "tracing",
      lower: null,
      compile: null,
      dispatched: null,
      ready: null,
      drained: null,
    });
    expect(stages.slice(0, 4)).toEqual([
      "traced [done] 0.21 s",
      "lowering [now]",
      "compiled [todo]",
      "dispatched [todo]",
    ]);
  });

  it("end where the call failed", () => {
    const stages = words({ ready: null, drained: null, error: "ValueError: no\nmore" });
    expect(stages.slice(4)).toEqual(["running [bad] ValueError: no", "outputs ready [todo]", "effects [todo]"]);
  });

  it("name tracing as failed if it raised, also with its time", () => {
    const early = {
      state: "failed",
      dispatched: null,
      ready: null,
      drained: null,
      compile: null,
      error: "TypeError: no",
    };
    expect(words({ ...early, lower: null }).slice(0, 3)).toEqual([
      "tracing [bad] TypeError: no",
      "lowered [todo]",
      "compiled [todo]",
    ]);
    expect(words({ ...early }).slice(0, 3)).toEqual([
      "traced [done] 0.21 s",
      "lowering [bad] TypeError: no",
      "compiled [todo]",
    ]);
    expect(words({ ...early, trace: null, lower: null })[0]).toBe("tracing [bad] TypeError: no");
  });

  it("end without a failure where the user ended the call", () => {
    const stages = words({ ready: null, drained: null, state: "stopped", error: "stopped at train.py:41" });
    expect(stages[4]).toBe("running [ended] stopped at train.py:41");
  });

  it("may have no effects", () => {
    expect(words({ effects: false, drained: null }).at(-1)).toBe("effects [done] none");
  });
});
