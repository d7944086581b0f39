/** Selects the statistic for the tree, the column beside the code, and the plot over steps. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { choicesOf, wordFor } from "./statistic";

export function StatisticChoice({ run, ui }: { run: RunStore; ui: UiState }) {
  return (
    <select
      aria-label="Statistic"
      title="The statistic of the names, of the column and of the plot (t)"
      data-testid="statistic-choice"
      value={ui.statistic.value}
      onChange={(event) => {
        ui.statistic.value = event.currentTarget.value;
      }}
    >
      {choicesOf(run, ui.statistic.value).map((name) => (
        <option key={name} value={name}>
          {wordFor(name)}
        </option>
      ))}
    </select>
  );
}
