/**
 * What the later bundles use from the first one, so that they contain no copies of its modules. If a name is missing
 * here, the build fails and says which.
 */
export { signal } from "@preact/signals";
export { Fragment, h } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { arrowMove } from "../../kit/arrows";
export { COMMANDS, plain } from "../../kit/escapes";
export { brief, count, plural, seconds, shortFunction, value } from "../../kit/format";
export { copy, download } from "../../kit/give";
export { Moved } from "../../kit/moved";
export { clearCanvas, useSize } from "../../kit/size";
export { callStateWords, goesOn, stateWords, wasEnded } from "../../kit/states";
export { Toggle } from "../../kit/Toggle";
export { colourAt, siteColour } from "../../kit/theme";
export { ticks } from "../../kit/ticks";
export { scrollTo, sliceAt } from "../../kit/virtual";
export { Words } from "../../kit/Words";
export { lineOf } from "../../store/apart";
export { atStop, earlier, endedAt } from "../../store/atStop";
export { clockOf, moveBy, timeOfMoment, watchedSteps, whenAt, whenOf } from "../../store/clock";
export { inspect } from "../../store/cursor";
export { decimate } from "../../store/decimate";
export { sameIn } from "../../store/earlier";
export { FilteredStream } from "../../store/filter";
export { numbered } from "../../store/groups";
export { arrival, failed, lasted, launched, runStart, timeOf } from "../../store/life";
export { FIELDS, Query } from "../../store/query";
export { toggled } from "../../store/ui";
export { causeOf, derivativeOf, firstPlace, isWatched, laneName, laneWords, SCALAR } from "../../store/watched";
export { arraysOf, canBeImage, typeName } from "../arrays/values";
export { meanwhile, STEPS, WAYS } from "../debugger/ways";
export { useFindings } from "../findings/useFindings";
export { elapsed } from "../life/elapsed";
export { goToPlace, hasFile } from "../overview/go";
export { ChartTools } from "../plots/ChartTools";
export { Chart } from "../plots/chart";
export { drawnOf, lineCount } from "../plots/drawn";
export { stepped } from "../plots/zoom";
export { siteName, watchedName } from "../sites/name";
