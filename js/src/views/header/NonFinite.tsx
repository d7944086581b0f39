/** The number of NaNs and infinities in the run, and a button that goes to the first. */
import { count } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { firstPlace, isWatched, laneName } from "../../store/watched";

interface Props {
  run: RunStore;
  ui: UiState;
}

/** Goes to the first NaN or infinity: to its moment, and to its line in the streams or in the source. */
export function goToNonFinite({ run, ui }: Props): void {
  const first = run.status?.first_nonfinite;
  if (!first || first.event < run.oldest) return;
  ui.moment.value = first.event;
  const site = run.sites.get(first.site);
  if (site && isWatched(site)) {
    ui.tab.value = "source";
    ui.place.value = firstPlace(first, site);
    ui.value.value = site.id;
    ui.lane.value = laneName(first.lane);
    return;
  }
  ui.tab.value = "streams";
  ui.filter.value = "";
  for (const narrowed of [ui.site, ui.onlyCall, ui.anchor]) narrowed.value = null;
  ui.phantoms.value = true;
  ui.event.value = first.event;
}

export function NonFinite({ run, ui }: Props) {
  run.watch();
  const first = run.status?.first_nonfinite;
  if (!first) return null;
  const { nan, inf } = run.status?.nonfinite ?? { nan: 0, inf: 0 };
  const words = [nan > 0 && `${count(nan)} NaN`, inf > 0 && `${count(inf)} ∞`].filter(Boolean).join(", ");
  const printed = words ? `${words} in prints and callbacks. ` : "";
  const isKept = first.event >= run.oldest;
  return (
    <button
      type="button"
      class="button non-finite number"
      data-testid="non-finite"
      disabled={!isKept}
      title={
        printed +
        (isKept ? "Go to the first NaN or infinite value (!)" : "The first NaN or infinite value is no longer kept")
      }
      onClick={() => goToNonFinite({ run, ui })}
    >
      {words || "not finite"}
    </button>
  );
}
