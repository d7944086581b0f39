/** The ways to continue from a stop, as buttons and shortcuts. */
import { wasEnded } from "../../kit/states";
import type { RunStore } from "../../store/run";
import type { HowToResume } from "../../transport/stops";

export interface Way {
  how: HowToResume;
  name: string;
  key: string;
  /** The key of JupyterLab's debugger; "" if it has none. */
  also: string;
  words: string;
}

const CONTINUE: Way = { how: "continue", name: "Continue", key: "c", also: "F8", words: "Continue to the next stop" };
const QUIT: Way = { how: "quit", name: "Stop", key: "q", also: "", words: "End the program here" };

/** The ways to continue from a breakpoint or a pause. */
export const WAYS: readonly Way[] = [
  CONTINUE,
  {
    how: "next",
    name: "Next other breakpoint",
    key: "n",
    also: "",
    words: "Continue to a breakpoint at another place",
  },
  { how: "all", name: "Run without stops", key: "a", also: "", words: "Continue without any more stops in this run" },
  QUIT,
];

/** The ways to continue from an equation of `%jaxdebug step`. */
export const STEPS: readonly Way[] = [
  { how: "step", name: "Step", key: "s", also: "F10", words: "Run this equation" },
  { how: "into", name: "Into", key: "i", also: "F11", words: "Go into the body of its jit, scan, while or cond" },
  { how: "out", name: "Out", key: "o", also: "Shift+F11", words: "Run to the end of this body" },
  CONTINUE,
  QUIT,
];

/** Says what the program did after the stop. */
export function meanwhile({ active, status }: RunStore): string {
  if (active) return "The program has continued";
  return wasEnded(status?.state ?? "") ? "The program was ended" : "The run is over";
}
