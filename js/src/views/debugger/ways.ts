/** The ways to go on from a stop, as buttons and as keys. */
import type { HowToResume } from "../../transport/stops";

export interface Way {
  how: HowToResume;
  name: string;
  key: string;
  words: string;
}

const CONTINUE: Way = { how: "continue", name: "Continue", key: "c", words: "Go on to the next stop" };
const QUIT: Way = { how: "quit", name: "Stop", key: "q", words: "End the program here" };

/** From a breakpoint or a pause. */
export const WAYS: readonly Way[] = [
  CONTINUE,
  { how: "next", name: "Next", key: "n", words: "Go on to a stop at another site" },
  { how: "all", name: "Continue all", key: "a", words: "Go on and stop no more in this run" },
  QUIT,
];

/** From an equation of `%jaxdebug step`. */
export const STEPS: readonly Way[] = [
  { how: "step", name: "Step", key: "s", words: "Run this equation" },
  { how: "into", name: "Into", key: "i", words: "Go into the body of its jit, scan, while or cond" },
  { how: "out", name: "Out", key: "o", words: "Run to the end of this body" },
  CONTINUE,
  QUIT,
];
