/** The watched values with their statistics: what is plotted of them is chosen, they are too many for a chart each. */

import { useState } from "preact/hooks";
import { count, plural } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched } from "../../store/watched";
import { watchedName } from "../sites/name";
import { Statistics } from "./Statistics";

/** Of the values that are looked for. */
const MOST_SHOWN = 100;

export function WatchedList({ run, ui }: { run: RunStore; ui: UiState }) {
  run.watch();
  const [wanted, setWanted] = useState("");
  const sites = [...run.sites.values()].filter(isWatched).filter((site) => {
    return `${watchedName(site)} ${site.watch.scope} ${site.where}`.toLowerCase().includes(wanted.toLowerCase());
  });
  return (
    <aside class="watched-list" aria-label="Watched values" data-testid="watched-list">
      <input
        type="search"
        aria-label="Find a watched value"
        placeholder={`Find among ${plural(run.watched.tables.size, "value")}`}
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      {sites.slice(0, MOST_SHOWN).map((site) => (
        <div key={site.id} title={`${site.where} ${site.watch.scope}`}>
          <Statistics run={run} ui={ui} site={site} place={site.where} />
        </div>
      ))}
      {sites.length > MOST_SHOWN && (
        <p class="muted">{count(sites.length - MOST_SHOWN)} more: find them by name, function or place.</p>
      )}
    </aside>
  );
}
