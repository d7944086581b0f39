/** The third bundle, `static/program.js`: the views of programs. `load.ts` loads it. */
import programCss from "../program/program.css";

export { Program } from "../program/Program";
export const css = programCss;
