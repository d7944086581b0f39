/** The second bundle, `static/views.js`: what is large and not shown at first. `load.ts` brings it to the page. */
import spreadCss from "../arrays/spread.css";
import debuggerCss from "../debugger/debugger.css";
import sourceCss from "../source/source.css";

export { Spread as Histograms } from "../arrays/Spread";
export { Debugger } from "../debugger/Debugger";
export { Source } from "../source/Source";
export const css = sourceCss + debuggerCss + spreadCss;
