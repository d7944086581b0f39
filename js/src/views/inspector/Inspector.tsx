/** The inspector beside the code: the selected value at the shown step and over the steps, its gradient, its lanes. */

import { brief, count, value as exact } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { WatchSite } from "../../store/watched";
import { labelOf } from "../names/statistic";
import { pathOf } from "../names/tree";
import { watchedName } from "../sites/name";
import { type LookAtStop, notesOf, type SeenValue, seen, typeOf } from "../source/reading";
import type { Value } from "../source/rows";
import { Close } from "./Close";
import { Gradient } from "./Gradient";
import { Histogram } from "./HistogramOverSteps";
import { Lanes } from "./Lanes";
import { OverSteps } from "./OverSteps";
import { Whole } from "./Whole";
import { Why } from "./Why";

interface Props {
  run: RunStore;
  ui: UiState;
  value: Value;
  look: LookAtStop;
  dark: boolean;
}

export function Inspector({ run, ui, value, look, dark }: Props) {
  run.watch();
  const { site, gradient } = value;
  const found = seen(run, value, look);
  // A gradient without a value is shown as a value.
  const beside = gradient && gradient !== site ? gradient : null;
  // A value that is read from the frame of a stop has no row, so it has no array and no lanes.
  const all = { run, ui, site, found: found?.local ? null : found, dark };
  return (
    <aside class="inspector" aria-label="Inspector" data-testid="inspect" data-site={site.id}>
      <Head run={run} ui={ui} value={value} found={found} />
      <Why run={run} ui={ui} found={found} look={look} />
      <Whole {...all} />
      <OverSteps run={run} ui={ui} own={String(site.id)} dark={dark} />
      <Histogram {...all} />
      {beside && <Gradient run={run} ui={ui} site={beside} found={found?.gradient ?? null} dark={dark} />}
      <Lanes {...all} />
    </aside>
  );
}

function Head({ run, ui, value, found }: Pick<Props, "run" | "ui" | "value"> & { found: SeenValue | null }) {
  const site = found?.site ?? value.site;
  const isOff = run.status?.muted.includes(site.id);
  const { scope, primitive } = site.watch;
  const path = pathOf(site.watch.name);
  return (
    <header class="inspector-head">
      <div class="inspector-title">
        <div class="inspector-name">
          <b class="mono">{watchedName(site)}</b>
          <span class="mono muted">{typeOf(site)}</span>
          <span class="muted">{site.where}</span>
        </div>
        <button
          type="button"
          class="toggle"
          data-testid="watch-toggle"
          aria-pressed={!isOff}
          disabled={run.gone}
          title={`${isOff ? "Watch it again" : "Stop watching it"}, from now on (w)`}
          onClick={() => toggleWatch(run, site)}
        >
          {isOff ? "not watched" : "watched"}
        </button>
        <Close ui={ui} />
      </div>
      <div class="muted number inspector-when" data-testid="inspect-when">
        {[
          found ? found.when : "not computed yet",
          found?.earlier ? "this step's has not come yet" : "",
          found && found.rows.length > 1 ? `${found.rows.length} lanes` : "",
          path.length > 1 ? path.join(" / ") : "",
          value.nth,
          scope && `in ${scope}`,
          primitive,
        ]
          .filter(Boolean)
          .join(" · ")}
      </div>
      {found && <Numbers found={found} />}
      {found && notesOf(found).map((note) => <div key={note}>{note}</div>)}
    </header>
  );
}

/** All statistics of the value, including those that are 0. */
function Numbers({ found }: { found: SeenValue }) {
  const { table, row, rows, site, lookup, get } = found;
  const size = table.sizeAt(row) * rows.length;
  const inWords = (name: string) => {
    const share = name === "zeros" && size > 1 ? ` of ${count(size)}, ${brief((100 * get(name)) / size)} %` : "";
    return `${exact(get(name))}${share}`;
  };
  const isOfFinite = labelOf(found, "min").endsWith("finite");
  const isBad = (name: string) =>
    /nan|inf/.test(name) ? get(name) > 0 && !site.watch.intended.includes(name) : Number.isNaN(lookup(name));
  return (
    <dl class={`statistics number${isOfFinite ? " of-finite" : ""}`} data-testid="statistics">
      {table.statistics.map((name) => (
        <div key={name}>
          <dt class="muted">{labelOf(found, name)}</dt>
          <dd class={isBad(name) ? "bad-text mono" : "mono"} title={inWords(name)}>
            {lookup(name) === undefined ? "–" : brief(get(name))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Starts or stops watching a value, from now on and without compiling again. */
export function toggleWatch(run: RunStore, { id, watch }: WatchSite): void {
  if (!run.gone) run.askWatch([watch.name], run.status?.muted.includes(id) ?? false);
}
