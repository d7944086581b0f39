/** The sixth bundle, `static/calls.js`: the timeline and the table of calls. `load.ts` loads it. */
import callsCss from "../calls/calls.css";
import timelineCss from "../timeline/timeline.css";

export { Calls } from "../calls/Calls";
export { Timeline } from "../timeline/Timeline";
export const css = callsCss + timelineCss;
