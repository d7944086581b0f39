/** What a run does, in words; `paused` is at a stop of the debugger. */
export const STATES = {
  running: "Running",
  paused: "Paused",
  waiting: "Waiting for effects",
  done: "Done",
  failed: "Failed",
  stopped: "Stopped",
  interrupted: "Interrupted",
  loaded: "Loaded while it was running",
} as const;

export type State = keyof typeof STATES;

export const stateWords = (state: string): string => STATES[state as State] ?? state;

/** The state of a call, in words. A call that is `drained` has its outputs and all its effects. */
export const callStateWords = (state: string): string => (state === "drained" ? "done" : state);

/** Whether a run goes on: a program runs, stands at a stop, or has effects under way. */
export const goesOn = (state: string): boolean => state === "running" || state === "waiting" || state === "paused";

/** Whether its user ended it, as opposed to a failure: of a run and of a call. */
export const wasEnded = (state: string): boolean => state === "stopped" || state === "interrupted";
