/**
 * The second bundle, `static/views.js`: large views that are not shown at first and mostly need the kernel. `load.ts`
 * loads it.
 */

import arraysCss from "../arrays/arrays.css";
import spreadCss from "../arrays/spread.css";
import debuggerCss from "../debugger/debugger.css";
import findingsCss from "../findings/findings.css";
import inspectorCss from "../inspector/inspector.css";
import namesCss from "../names/names.css";
import sourceCss from "../source/source.css";

export { EventArrays } from "../arrays/EventArrays";
export { Findings } from "../findings/Findings";
export { Source } from "../source/Source";
export const css = [arraysCss, spreadCss, sourceCss, namesCss, inspectorCss, debuggerCss, findingsCss].join("");
