/**
 * The fourth bundle, `static/lines.js`: what few lines need, such as colours, the filter's terms, and hits of a
 * condition. `load.ts` loads it.
 */
import hitsCss from "../hits/hits.css";
import termsCss from "../search/terms.css";
import ansiCss from "../streams/ansi.css";

export { firstLine, styled } from "../../kit/ansi";
export { Hits } from "../hits/Hits";
export { Terms } from "../search/Terms";
export const css = ansiCss + hitsCss + termsCss;
