/**
 * The number beside a name: the selected statistic of a watched value at the step, or the last number that a print had
 * by then.
 */
import { brief } from "../../kit/format";
import { timeOfMoment } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched } from "../../store/watched";
import { readoutOf } from "../plots/readout";
import { badOf, type LookAtStop, seenOf } from "../source/reading";
import type { Leaf } from "./leaf";
import { statisticOf } from "./statistic";

export interface Shown {
  text: string;
  isBad: boolean;
  /** At a stop: the earlier call or step to which the number belongs; "" for the current one. */
  earlier: string;
}

const NOT_KNOWN: Shown = { text: "–", isBad: false, earlier: "" };

export function shownOf(run: RunStore, ui: UiState, look: LookAtStop, leaf: Leaf): Shown {
  return isWatched(leaf.site) ? ofWatched(run, ui, look, leaf) : ofPrinted(run, ui, leaf);
}

function ofWatched(run: RunStore, ui: UiState, look: LookAtStop, { site }: Leaf): Shown {
  const found = isWatched(site) ? seenOf(run, site, look) : null;
  if (!found) return NOT_KNOWN;
  const { earlier } = found;
  const bad = badOf(found);
  const number = statisticOf(found, ui.statistic.value);
  return { text: bad || (number === undefined ? "–" : brief(number)), isBad: bad !== "" && !earlier, earlier };
}

function ofPrinted(run: RunStore, ui: UiState, { site, value }: Leaf): Shown {
  const series = run.series.get(site.id, value);
  const found = series && readoutOf(series, timeOfMoment(run, ui), "seconds");
  if (!found) return { ...NOT_KNOWN, text: site.shapes[value]?.length ? "array" : "–" };
  const { low, high } = found;
  const isBad = !Number.isFinite(low) || !Number.isFinite(high);
  return { text: low === high || isBad ? brief(low) : `${brief(low)}…${brief(high)}`, isBad, earlier: "" };
}
