/** The tabs of a run. */
import type { RunStore } from "../../store/run";
import { TABS, type Tab, type UiState } from "../../store/ui";

/**
 * Returns the tabs to show: Findings only if there are findings or checks have run, Runs only if there are several
 * runs.
 */
export function tabsOf(run: RunStore): readonly Tab[] {
  const missing: Partial<Record<Tab, boolean>> = {
    findings: !run.status?.findings && !run.status?.checked,
    runs: run.table.rows.value.length < 2,
  };
  return TABS.filter((tab) => !missing[tab]);
}

/** Returns the selected tab; the overview if the user has selected none. */
export function tabOf(ui: UiState): Tab {
  return ui.tab.value ?? "overview";
}
