/** The fifth bundle, `static/runs.js`: the table of runs and the comparison. `load.ts` loads it. */
import runsCss from "../runs/runs.raw.css";

export { Runs } from "../runs/Runs";
export const css = runsCss;
