/** One chart for each value that is a number. */
import { useState } from "preact/hooks";
import { count } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { Plot } from "./Plot";

const MOST_PLOTS = 60;

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
  return (
    <div class="plots" data-testid="plots" style={{ "--columns": columnsFor(all.length) }}>
      {all.slice(0, most).map((series) => {
        const key = `${series.site}/${series.value}`;
        return <Plot key={key} run={run} ui={ui} series={series} plotKey={key} dark={dark} />;
      })}
      {all.length > most && (
        <button type="button" class="button more-plots" onClick={() => setMost(most + MOST_PLOTS)}>
          {count(all.length - most)} more
        </button>
      )}
    </div>
  );
}

/** Where there is room for them: so many that the last row is full, or nearly. */
function columnsFor(plots: number): number {
  return plots === 4 ? 2 : Math.min(3, plots);
}
