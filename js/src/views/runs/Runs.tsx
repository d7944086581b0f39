/** The runs of this kernel, shown in the panel of one of them for front ends without a side panel. */

import { useEffect } from "preact/hooks";
import { goesOn } from "../../kit/states";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { RunsView } from "./RunsView";

const REFRESH_MS = 1500;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: boolean;
}

export function Runs({ run, ui, dark }: Props) {
  run.watch();
  const rows = run.table.rows.value;
  const someGoOn = rows.some(({ state }) => goesOn(state));
  useEffect(() => run.table.refresh(run.key), [run]);
  useEffect(() => {
    if (!someGoOn) return;
    const timer = setInterval(() => run.table.refresh(run.key), REFRESH_MS);
    return () => clearInterval(timer);
  }, [run, someGoOn]);
  // This run is ticked by default, so that one more tick compares it with another run.
  const chosen = ui.compared.value ?? [run.key];
  const isListed = (key: string) => rows.some((row) => row.key === key);
  return (
    <RunsView
      rows={rows}
      ports={run.table}
      dark={dark}
      ticked={chosen.filter(isListed)}
      onTicked={(ticked) => {
        // A run that is not listed yet stays ticked.
        ui.compared.value = [...chosen.filter((key) => !isListed(key)), ...ticked];
      }}
      open={run.key}
    />
  );
}
