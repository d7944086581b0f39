/** The messages about a debugger's stop; the twin of `jax_debug_widgets/transport/stops.py`, which documents them. */

/** Counts over all elements. `min`, `max`, `mean` and `std` are of the finite elements; null if there are none. */
export interface ArrayStatistics {
  size: number;
  nan: number;
  inf: number;
  zero: number;
  min: number | null;
  max: number | null;
  mean: number | null;
  std: number | null;
}

/** A variable of a frame. `shape`, `dtype` and `stats` are null if it is not an array. */
export interface LocalMessage {
  name: string;
  type: string;
  text: string;
  shape: number[] | null;
  dtype: string | null;
  device: string;
  stats: ArrayStatistics | null;
}

export interface FrameMessage {
  index: number;
  file: string;
  where: string;
  function: string;
  line: number;
  /** The line number of the first line in `source`. */
  first_line: number;
  source: string[];
  locals: LocalMessage[];
}

export interface Lanes {
  sizes: number[];
  chosen: number[];
  /** The lanes in which the condition holds; null if the stop has no condition. */
  stopped: number[][] | null;
}

export interface StopBody {
  id: number;
  kind: "breakpoint" | "pause" | "step";
  /** The id of the site; -1 if the stop is at no site. */
  site: number;
  name: string;
  /** Why the program stopped, as a sentence. */
  reason: string;
  /** Seconds since the stop began. */
  since: number;
  timeout: number | null;
  thread: string;
  way: "shell" | "control" | "stdin";
  phase: string;
  step: number[];
  /** The number of the event at which the program is stopped; -1 if none is recorded. */
  event: number;
  lanes: Lanes;
  device: string;
  hits: number;
  /** What may go wrong while the program is stopped; "" if nothing. */
  warning: string;
  replaceable: { name: string; shape: number[]; dtype: string } | null;
  /** The index of the selected frame. */
  frame: number;
  frames: FrameMessage[];
}

/** A stop has begun, has changed, or (null) has ended. */
export interface StopChange {
  type: "stop";
  version: number;
  run: string;
  stop: StopBody | null;
}

export interface ConsoleOutput {
  type: "console";
  version: number;
  run: string;
  id: number;
  stop: number;
  text: string;
  /** Whether the command raised. */
  error: boolean;
}

/** The commands that were typed before this page was loaded. */
export interface TypedBefore {
  type: "typed";
  version: number;
  run: string;
  typed: { text: string; output: string | null; error: boolean }[];
}

export interface Completions {
  type: "completions";
  version: number;
  run: string;
  id: number;
  /** Where the text begins that a match replaces, in Unicode code points. */
  start: number;
  matches: string[];
}

export type HowToResume = "continue" | "next" | "all" | "quit" | "step" | "into" | "out" | "line";
