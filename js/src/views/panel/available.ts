/** The views there are for a run. */
import type { RunStore } from "../../store/run";
import { TABS, type Tab, type UiState } from "../../store/ui";

/** That of arrays only where some value is one, that of findings where there are any. */
export function tabsOf(run: RunStore): readonly Tab[] {
  const anyArray = [...run.sites.values()].some((site) => site.shapes.some((shape) => shape.length > 0));
  const missing: Partial<Record<Tab, boolean>> = {
    arrays: !anyArray,
    findings: !run.status?.findings,
    runs: run.table.rows.value.length < 2,
  };
  return TABS.filter((tab) => !missing[tab]);
}

/** The one chosen, the overview until then. */
export function tabOf(ui: UiState): Tab {
  return ui.tab.value ?? "overview";
}
