/** The messages of a debugger's stop; the twin of `jax_debug_widgets/transport/stops.py`, which documents them. */

/** Of all elements; `min`, `max`, `mean`, `std` of the finite ones, null where there are none. */
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

/** A variable of a frame; shape, dtype and statistics are null where it is no array. */
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
  /** The number of the first line of `source`. */
  first_line: number;
  source: string[];
  locals: LocalMessage[];
}

export interface Lanes {
  sizes: number[];
  chosen: number[];
  /** The lanes whose condition holds, null where there was no condition. */
  stopped: number[][] | null;
}

export interface StopBody {
  id: number;
  kind: "breakpoint" | "pause" | "step";
  /** -1 where it is at no site. */
  site: number;
  name: string;
  /** A sentence. */
  reason: string;
  /** Seconds since it began. */
  since: number;
  timeout: number | null;
  thread: string;
  way: "shell" | "control" | "stdin";
  phase: string;
  step: number[];
  /** The number of the event at which it stands, -1 where none is recorded. */
  event: number;
  lanes: Lanes;
  device: string;
  hits: number;
  /** Empty, or what may go wrong while it stands. */
  warning: string;
  replaceable: { name: string; shape: number[]; dtype: string } | null;
  /** The frame that is looked at. */
  frame: number;
  frames: FrameMessage[];
}

/** A stop has begun, changed or (null) ended. */
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
  /** It raised. */
  error: boolean;
}

/** What was typed before this page was loaded. */
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
  /** Where the text begins that a match replaces, in code points. */
  start: number;
  matches: string[];
}

export type HowToResume = "continue" | "next" | "all" | "quit" | "step" | "into" | "out" | "line";
