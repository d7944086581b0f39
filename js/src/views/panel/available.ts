/** The views there are for a run. */
import type { RunStore } from "../../store/run";
import { TABS, type Tab } from "../../store/ui";

/** That of arrays only where some value is one. */
export function tabsOf(run: RunStore): readonly Tab[] {
  const anyArray = [...run.sites.values()].some((site) => site.shapes.some((shape) => shape.length > 0));
  return TABS.filter((tab) => tab !== "arrays" || anyArray);
}
