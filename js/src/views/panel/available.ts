/** The views there are for a run. */
import type { RunStore } from "../../store/run";
import { TABS, type Tab, type UiState } from "../../store/ui";

/** That of findings only where there are any or checks have looked for some, that of runs where there are others. */
export function tabsOf(run: RunStore): readonly Tab[] {
  const missing: Partial<Record<Tab, boolean>> = {
    findings: !run.status?.findings && !run.status?.checked,
    runs: run.table.rows.value.length < 2,
  };
  return TABS.filter((tab) => !missing[tab]);
}

/** The one chosen, the overview until then. */
export function tabOf(ui: UiState): Tab {
  return ui.tab.value ?? "overview";
}
