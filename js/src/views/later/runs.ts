/** The fifth bundle, `static/runs.js`: the table of runs, and those that are compared. `load.ts` brings it to the page. */
import runsCss from "../runs/runs.raw.css";

export { Runs } from "../runs/Runs";
export const css = runsCss;
