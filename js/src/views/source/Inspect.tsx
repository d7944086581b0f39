/** Below the source: the chosen value in full, with its plot, its array where it was taken, and its lanes. */
import type { RunStore } from "../../store/run";
import { toggled, type UiState } from "../../store/ui";
import type { Look, WatchSite } from "../../store/watched";
import { Full } from "../arrays/Full";
import { Slice } from "../arrays/Slice";
import { Plot } from "../plots/Plot";
import { Statistics } from "../plots/Statistics";
import { Bars } from "./Bars";
import { ByLane, Firings, LaneSwitch } from "./Lanes";
import { Magnitudes } from "./Magnitudes";
import { factsOf, type Seen, seen } from "./reading";
import type { Value } from "./rows";

interface Props {
  run: RunStore;
  ui: UiState;
  value: Value;
  look: Look;
  dark: boolean;
}

export function Inspect({ run, ui, value, look, dark }: Props) {
  run.watch();
  const { site, gradient } = value;
  const found = seen(run, value, look);
  const sites = [...new Set([site, gradient ?? site])];
  const isOff = run.status?.muted.includes(site.id);
  const moment = ui.moment.value;
  const plotLook = {
    byTime: ui.byTime.value,
    smoothing: ui.smoothing.value,
    during: null,
    moment: moment === null ? null : run.log.time(run.log.lowerBound(moment + 1) - 1),
  };
  const plotted = run.watched.plotted(ui.plotted.value).filter((one) => sites.some(({ id }) => id === one.site));
  const key = plotted.map((one) => `${one.site}/${one.value}`).join();
  return (
    <footer class="detail inspect" data-testid="inspect" data-site={site.id}>
      <div class="detail-head">
        <Facts value={value} found={found} />
        <span class="grow" />
        <LaneSwitch run={run} site={site} />
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
        <button
          type="button"
          class="close"
          aria-label="Close the detail"
          onClick={() => {
            ui.value.value = null;
          }}
        >
          ×
        </button>
      </div>
      <div class="inspect-body">
        <div class="inspect-plot">
          {sites.map((one) => (
            <Statistics key={one.id} run={run} ui={ui} site={one} />
          ))}
          {key && (
            <Plot key={key} run={run} ui={ui} all={plotted} ghosts={[]} plotKey={key} look={plotLook} dark={dark} />
          )}
        </div>
        {found?.table.has("hist +0") && (
          <Magnitudes site={site} found={found} newest={run.watched.received} dark={dark} />
        )}
        {found?.site.watch.full && <Whole run={run} found={found} dark={dark} />}
        {found && found.site.watch.lanes.length > 0 && <ByLane run={run} found={found} />}
        {found && found.rows.length > 1 && <Firings found={found} />}
      </div>
    </footer>
  );
}

/** The value itself, at the chosen step. */
function Whole({ run, found: { table, row, site }, dark }: { run: RunStore; found: Seen; dark: boolean }) {
  const index = site.watch.shape.slice(0, -2).map(() => 0);
  const wanted = { event: table.event(row), value: site.values.length - 1, index, image: false };
  return (
    <div class="detail-array">
      <Slice answer={run.arrays.get(wanted)} name={site.watch.name} dark={dark} gone={run.gone}>
        <Full run={run} wanted={wanted} name={site.watch.name} />
      </Slice>
    </div>
  );
}

export function Facts({ value, found }: { value: Value; found: ReturnType<typeof seen> }) {
  return (
    <div class="value-facts number">
      {factsOf(value, found).map((line, i) => (
        <div key={i} class={i === 0 ? "mono" : "muted"}>
          {line}
        </div>
      ))}
      {found && <Bars site={value.site} found={found} />}
    </div>
  );
}

/** From now on, without compiling anew. */
export function toggleWatch(run: RunStore, { id, watch }: WatchSite): void {
  if (!run.gone) run.askWatch([watch.name], run.status?.muted.includes(id) ?? false);
}

/** Plots what stands for the value, unless something of it is plotted already. */
export function plotChief(ui: UiState, { id, values, watch }: WatchSite): void {
  if ([...ui.plotted.value].some((key) => key.startsWith(`${id}/`))) return;
  const chief = values.indexOf(watch.role === "gradient" ? "l2" : "mean");
  ui.plotted.value = toggled(ui.plotted.value, `${id}/${Math.max(0, chief)}`);
}
