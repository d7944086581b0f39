/**
 * The fourth bundle, `static/lines.js`: views that few runs need, such as colours of printed text, terms of the filter,
 * and hits of a condition. `load.ts` loads it.
 */
import hitsCss from "../hits/hits.css";
import termsCss from "../search/terms.css";
import ansiCss from "../streams/ansi.css";

export { firstLine, styled } from "../../kit/ansi";
export { Hits } from "../hits/Hits";
export { Terms } from "../search/Terms";
export const css = ansiCss + hitsCss + termsCss;
