/** One chart for each value that is a number, and one for those that were pinned together. */
import { useState } from "preact/hooks";
import { count } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import { timeOf } from "../../store/spans";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { Plot } from "./Plot";

const MOST_PLOTS = 60;
const MOST_SMOOTHING = 0.99;

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Plots({ run, ui, status, dark }: Props) {
  run.watch();
  const [most, setMost] = useState(MOST_PLOTS);
  const all = run.series.all();
  if (all.length === 0) {
    return (
      <div class="empty">
        <strong>{status.state === "running" ? "No scalars yet" : "No scalars in this run"}</strong>
        <span>Every number that is printed or handed to a callback is drawn here against its occurrence.</span>
      </div>
    );
  }
  const call = ui.onlyCall.value === null ? undefined : run.calls.get(ui.onlyCall.value);
  const look = {
    byTime: ui.byTime.value,
    smoothing: ui.smoothing.value,
    during: call ? timeOf(call) : null,
    moment: ui.moment.value === null ? null : run.log.time(run.log.lowerBound(ui.moment.value + 1) - 1),
  };
  const pinned = all.filter((series) => ui.pinned.value.has(keyOf(series)));
  const plot = (key: string, together: Series[]) => (
    <Plot key={key} run={run} ui={ui} all={together} plotKey={key} look={look} dark={dark} />
  );
  const overlay = pinned.length > 1 ? [plot(`pinned ${[...ui.pinned.value]}`, pinned)] : [];
  return (
    <div class="plots-view">
      <Toolbar ui={ui} />
      <div class="plots" data-testid="plots" style={{ "--columns": columnsFor(all.length + overlay.length) }}>
        {overlay}
        {all.slice(0, most).map((series) => plot(keyOf(series), [series]))}
        {all.length > most && (
          <button type="button" class="button more-plots" onClick={() => setMost(most + MOST_PLOTS)}>
            {count(all.length - most)} more
          </button>
        )}
      </div>
    </div>
  );
}

function Toolbar({ ui }: { ui: UiState }) {
  return (
    <div class="toolbar">
      <label class="slider">
        <span class="muted">smoothing</span>
        <input
          type="range"
          data-testid="smoothing"
          min={0}
          max={MOST_SMOOTHING}
          step={0.01}
          value={ui.smoothing.value}
          onInput={(event) => {
            ui.smoothing.value = event.currentTarget.valueAsNumber;
          }}
        />
        <span class="number">{ui.smoothing.value.toFixed(2)}</span>
      </label>
      <button
        type="button"
        class="toggle"
        data-testid="by-time"
        aria-pressed={ui.byTime.value}
        title="Draw against seconds instead of occurrences"
        onClick={() => {
          ui.byTime.value = !ui.byTime.value;
        }}
      >
        by time
      </button>
      <span class="grow" />
      <span class="muted hint">drag to zoom · double-click shows all</span>
    </div>
  );
}

function keyOf({ site, value }: Series): string {
  return `${site}/${value}`;
}

/** Where there is room for them: so many that the last row is full, or nearly. */
function columnsFor(plots: number): number {
  return plots === 4 ? 2 : Math.min(3, plots);
}
