/** Where a click in the overview leads. */

import { inspect } from "../../store/cursor";
import type { FactId } from "../../store/headline";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import type { UiState } from "../../store/ui";
import { guiltyPlace, isWatched, laneName } from "../../store/watched";
import type { FindingMessage } from "../../transport/wire";
import { goToNonFinite } from "../header/NonFinite";
import { tabsOf } from "../panel/available";

/** To the value, beside its line. */
export function goToValue(run: RunStore, ui: UiState, { site: id, value }: Pick<Series, "site" | "value">): void {
  const site = run.sites.get(id);
  if (!site) return;
  inspect(ui, site, value);
  ui.tab.value = "source";
}

export function goToFact(run: RunStore, ui: UiState, id: FactId, series: Series | undefined): void {
  if (id === "nan") goToNonFinite({ run, ui });
  else if (id === "findings") ui.tab.value = "findings";
  else if (id === "steps") ui.tab.value = "timeline";
  else if (id === "pace") ui.tab.value = "calls";
  else if (id === "compiled") ui.tab.value = tabsOf(run).includes("findings") ? "findings" : "calls";
  else if (series) goToValue(run, ui, series);
}

export function goToLine(ui: UiState, event: number): void {
  ui.filter.value = "";
  for (const narrowed of [ui.site, ui.onlyCall, ui.anchor]) narrowed.value = null;
  ui.event.value = event;
  ui.tab.value = "streams";
}

/** To the line of a finding, where the source is there; else to all findings. */
export function goToFinding(run: RunStore, ui: UiState, { file, line, site, event, lane }: FindingMessage): void {
  const watched = [...run.sites.values()].filter(isWatched);
  if (!watched.some((one) => one.file === file)) {
    ui.tab.value = "findings";
    return;
  }
  const own = run.sites.get(site);
  ui.place.value = own && isWatched(own) ? guiltyPlace(own) : { file, line, index: 0 };
  if (site >= 0) ui.value.value = site;
  if (event >= 0) ui.moment.value = event;
  ui.lane.value = laneName(lane);
  ui.tab.value = "source";
}

/** The last event of what came at `time`: the moment at which all values of a step are there. */
export function momentAt(run: RunStore, time: number): number | null {
  if (run.log.length === 0) return null;
  const event = run.log.endOf(run.log.number(run.log.atTime(time)));
  return event >= run.next - 1 ? null : event;
}
