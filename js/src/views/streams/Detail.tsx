/** An event in full, opened below its line; and below the streams, the source line of the selected site. */
import { seconds, shortFunction } from "../../kit/format";
import type { RunStore } from "../../store/run";
import { stepsOf } from "../../store/steps";
import type { UiState } from "../../store/ui";
import type { SiteMessage } from "../../transport/wire";
import { arraysOf } from "../arrays/values";
import { EventArrays } from "../later/Later";
import { Styled } from "./Styled";

const MOST_LINES = 12;
const ROWS_OF_ARRAYS = 8;
/** Longer lines are wrapped. */
const LONGEST_LINE = 200;
/** About the characters of a wrapped line. */
const WRAPPED_AT = 90;

interface Props {
  run: RunStore;
  ui: UiState;
}

interface EventProps extends Props {
  dark: boolean;
  number: number;
}

/** Returns the height of an opened event, in rows of the list. */
export function detailRows(run: RunStore, number: number): number {
  const site = run.siteAt(run.log.find(number));
  const lines = Math.min(MOST_LINES, shownLines(run.texts.get(number) ?? ""));
  return 3 + (site && arraysOf(run, site).length > 0 ? Math.max(ROWS_OF_ARRAYS, lines) : lines);
}

/** Whether the text has lines so long that they are wrapped. Shorter ones are not, because columns of arrays align. */
function isLong(text: string): boolean {
  return text.split("\n").some((line) => line.length > LONGEST_LINE);
}

function shownLines(text: string): number {
  const each = isLong(text) ? WRAPPED_AT : Number.POSITIVE_INFINITY;
  return text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / each)), 0);
}

export function SiteDetail({ run, ui }: Props) {
  run.watch();
  const site = ui.site.value === null || ui.event.value !== null ? undefined : run.sites.get(ui.site.value);
  if (!site) return null;
  return (
    <footer class="detail" data-testid="detail">
      <div class="detail-head">
        <Place site={site} />
      </div>
      <Source site={site} />
    </footer>
  );
}

export function EventDetail({ run, ui, dark, number }: EventProps) {
  run.watch();
  const { log } = run;
  const position = log.find(number);
  const site = run.siteAt(position);
  const colours = run.texts.withStyles(number);
  const text = run.texts.get(number) ?? "…";
  const steps = stepsOf(log, position, site);
  const words = [
    `line ${number}`,
    steps.length > 0 && `step ${steps.join(", ")}`,
    `#${log.occurrence(position)}`,
    seconds(log.time(position)),
    log.lane(position) >= 0 && `lane ${log.lane(position)}`,
    run.devices[log.device(position)],
    run.calls.get(log.call(position))?.name,
  ].filter(Boolean);
  const close = () => {
    ui.event.value = null;
  };
  return (
    <section class="detail" data-testid="detail" aria-label={`Line ${number}`}>
      <div class="detail-head">
        {site && <Place site={site} />}
        <span class="muted number">{words.join(" · ")}</span>
        <span class="grow" />
        <button type="button" class="close" aria-label="Close the detail" title="Close the detail" onClick={close}>
          ×
        </button>
      </div>
      {site && <Source site={site} />}
      <div class="detail-body">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
        <pre class={`mono${isLong(text) ? " wrapped" : ""}`} dir="auto" tabIndex={0}>
          {colours === undefined ? text : <Styled run={run} text={colours} />}
        </pre>
        {site && arraysOf(run, site).length > 0 && (
          <EventArrays run={run} ui={ui} dark={dark} site={site} event={number} />
        )}
      </div>
    </section>
  );
}

function Place({ site }: { site: SiteMessage }) {
  return (
    <span class="place" title={site.name_stack}>
      <b>{site.where}</b> <span class="muted">in {shortFunction(site.function)}</span>
      {site.phase !== "forward" && <span class={`tag phase-${site.phase}`}> {site.phase}</span>}
      {site.transforms.length > 0 && <span class="muted"> · {site.transforms.join(" › ")}</span>}
    </span>
  );
}

function Source({ site }: { site: SiteMessage }) {
  return <code class="source mono">{site.source.trim()}</code>;
}
