/** The statistics of a watched value; a click plots one, or takes it out of the plots. */
import type { RunStore } from "../../store/run";
import { toggled, type UiState } from "../../store/ui";
import type { WatchSite } from "../../store/watched";
import { watchedName } from "../sites/name";

interface Props {
  run: RunStore;
  ui: UiState;
  site: WatchSite;
  /** Told beside the name, where others may be called the same. */
  place?: string;
}

export function Statistics({ run, ui, site, place }: Props) {
  const name = watchedName(site);
  return (
    <fieldset class="statistics">
      <legend class="mono">
        {name} {place && <small class="muted">{place}</small>}
      </legend>
      {run.watched.tables.get(site.id)?.statistics.map((statistic) => {
        const key = `${site.id}/${site.values.indexOf(statistic)}`;
        return (
          <button
            type="button"
            key={key}
            class="mini"
            data-testid="statistic"
            aria-pressed={ui.plotted.value.has(key)}
            aria-label={`${name} ${statistic}`}
            onClick={() => {
              ui.plotted.value = toggled(ui.plotted.value, key);
            }}
          >
            {statistic}
          </button>
        );
      })}
    </fieldset>
  );
}
