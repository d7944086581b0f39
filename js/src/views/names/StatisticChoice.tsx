/** One choice for the tree, the column beside the code, and the plot over steps. */
import type { UiState } from "../../store/ui";
import { STATISTICS, wordFor } from "./statistic";

export function StatisticChoice({ ui }: { ui: UiState }) {
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
      {STATISTICS.map((name) => (
        <option key={name} value={name}>
          {wordFor(name)}
        </option>
      ))}
    </select>
  );
}
