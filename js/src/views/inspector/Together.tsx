/** Beside the code, if names are ticked and nothing is inspected: their curves. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { OverSteps } from "./OverSteps";

export function Together({ run, ui, dark }: { run: RunStore; ui: UiState; dark: boolean }) {
  return (
    <aside class="inspector" aria-label="Names plotted together" data-testid="together">
      <OverSteps run={run} ui={ui} own="" dark={dark} />
    </aside>
  );
}
