/** The way from a value to its line in the code, where it is inspected at the same step. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { SiteMessage } from "../../transport/wire";

interface Props {
  run: RunStore;
  ui: UiState;
  site: SiteMessage;
}

export function LineOf({ run, ui, site }: Props) {
  const { file, line, where, id } = site;
  if (!file || run.gone) return null;
  return (
    <button
      type="button"
      class="mini"
      data-testid="line-of"
      title="Show its line in the code, at this step"
      onClick={() => {
        ui.place.value = { file, line, index: 0 };
        ui.value.value = id;
        ui.tab.value = "source";
      }}
    >
      {where} ↗
    </button>
  );
}
