/** The destinations of clicks in the overview. */

import { inspect } from "../../store/cursor";
import { type FactId, NONFINITE } from "../../store/headline";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import type { UiState } from "../../store/ui";
import { causeOf, isWatched, laneName } from "../../store/watched";
import type { FindingMessage } from "../../transport/wire";
import { goToNonFinite } from "../header/NonFinite";

/** The kind of findings that say why a function was compiled again. */
const RETRACES = "retraces";

/** Shows the value beside its line. */
export function goToValue(run: RunStore, ui: UiState, series: Series | undefined): void {
  const site = series && run.sites.get(series.site);
  if (!site) return;
  inspect(ui, site, series.value);
  ui.tab.value = "source";
}

/** The destinations of the facts. */
export interface Known {
  loss: Series | undefined;
  quality: Series | undefined;
  findings: readonly FindingMessage[];
}

export function goToFact(run: RunStore, ui: UiState, id: FactId, known: Known): void {
  if (id === "nan") goToNan(run, ui, known.findings);
  else if (id === "findings") goToWorst(run, ui, known.findings);
  else if (id === "steps") ui.tab.value = "timeline";
  else if (id === "pace") ui.tab.value = "calls";
  else if (id === "compiled") goToCompiled(ui, known.findings);
  else goToValue(run, ui, known[id]);
}

function goToNan(run: RunStore, ui: UiState, findings: readonly FindingMessage[]): void {
  const born = findings.find(({ kind }) => kind === NONFINITE);
  if (born && !run.status?.first_nonfinite) goToFinding(run, ui, born);
  else goToNonFinite({ run, ui });
}

/** Goes to the first of the most severe findings. If the findings have not arrived, goes to the Findings view. */
function goToWorst(run: RunStore, ui: UiState, findings: readonly FindingMessage[]): void {
  const worst = worstOf(findings);
  if (worst) goToFinding(run, ui, worst);
  else ui.tab.value = "findings";
}

/** Returns the first of the most severe findings. */
export function worstOf(findings: readonly FindingMessage[]): FindingMessage | undefined {
  const least = Math.min(...findings.map(({ severity }) => severity));
  return findings.find(({ severity }) => severity === least);
}

/** Goes to the reason for compiling again, if there is one; otherwise to the calls. */
function goToCompiled(ui: UiState, findings: readonly FindingMessage[]): void {
  const isKnown = findings.some(({ kind }) => kind === RETRACES);
  if (isKnown) ui.finding.value = RETRACES;
  ui.tab.value = isKnown ? "findings" : "calls";
}

export function goToLine(ui: UiState, event: number): void {
  ui.filter.value = "";
  for (const narrowed of [ui.site, ui.onlyCall, ui.anchor]) narrowed.value = null;
  ui.event.value = event;
  ui.tab.value = "streams";
}

/** Whether the Code view has the file. */
export function hasFile(run: RunStore, file: string): boolean {
  return file !== "" && [...run.sites.values()].some((site) => site.file === file);
}

/** Goes to the line of a finding if the Code view has it; otherwise to the finding in the Findings view. */
export function goToFinding(run: RunStore, ui: UiState, finding: FindingMessage): void {
  if (!hasFile(run, finding.file)) {
    ui.finding.value = finding.kind;
    ui.tab.value = "findings";
    return;
  }
  const own = run.sites.get(finding.site);
  goToPlace(ui, own && isWatched(own) ? { ...finding, ...causeOf(own) } : finding);
}

/** A line and, for a value, its site, event and lane; -1 if there is none. */
type Target = Pick<FindingMessage, "file" | "line" | "site" | "event"> & Partial<Pick<FindingMessage, "lane">>;

export function goToPlace(ui: UiState, { file, line, site, event, lane }: Target): void {
  ui.place.value = { file, line, index: 0 };
  if (site >= 0) ui.value.value = site;
  if (event >= 0) ui.moment.value = event;
  ui.lane.value = laneName(lane);
  ui.tab.value = "source";
}

/** Returns the last event at `time`: then all values of the step are there. Returns null for the newest. */
export function momentAt(run: RunStore, time: number): number | null {
  if (run.log.length === 0) return null;
  const event = run.log.endOf(run.log.number(run.log.atTime(time)));
  return event >= run.next - 1 ? null : event;
}
