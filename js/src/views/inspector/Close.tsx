/** Closes the inspector. */
import type { UiState } from "../../store/ui";

export function Close({ ui }: { ui: UiState }) {
  return (
    <button
      type="button"
      class="close"
      aria-label="Close the detail"
      title="Close (Escape)"
      onClick={() => {
        ui.value.value = null;
      }}
    >
      ×
    </button>
  );
}
