/** The states of a run, in words. `paused` means that the debugger holds it. */
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

/** Returns the state of a call, in words. A `drained` call has its outputs and all its effects. */
export const callStateWords = (state: string): string => (state === "drained" ? "done" : state);

/** Whether a run is active: its program runs, is at a stop, or has pending effects. */
export const goesOn = (state: string): boolean => state === "running" || state === "waiting" || state === "paused";

/** Whether the user ended a run or a call. A failure does not count. */
export const wasEnded = (state: string): boolean => state === "stopped" || state === "interrupted";
