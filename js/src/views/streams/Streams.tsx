/** Ordered and unordered events side by side, the sites that they come from, and the selected site. */
import { goesOn } from "../../kit/states";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { Sites } from "../sites/Sites";
import { Column } from "./Column";
import { SiteDetail } from "./Detail";

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Streams({ run, ui, status, dark }: Props) {
  run.watch();
  if (run.merged.positions.length === 0 && run.streamSites.length === 0)
    return <NothingYet run={run} state={status.state} />;
  const sites = run.streamSites;
  const anyOrdered = sites.some((site) => site.ordered);
  const anyUnordered = sites.some((site) => !site.ordered);
  return (
    <div class={`streams${ui.sites.value ? " sites-shown" : ""}`}>
      <div class="columns">
        <div class="stream-pair">
          {ui.merged.value ? (
            <Column name="Merged" run={run} stream={run.merged} ui={ui} slim={false} dark={dark} />
          ) : (
            <>
              <Column
                name="Ordered"
                run={run}
                stream={run.ordered}
                ui={ui}
                slim={!anyOrdered && anyUnordered}
                dark={dark}
              />
              <Column
                name="Unordered"
                run={run}
                stream={run.unordered}
                ui={ui}
                slim={!anyUnordered && anyOrdered}
                dark={dark}
              />
            </>
          )}
        </div>
        <SiteDetail run={run} ui={ui} />
      </div>
      <Sites run={run} ui={ui} status={status} dark={dark} />
    </div>
  );
}

function NothingYet({ run, state }: { run: RunStore; state: string }) {
  if (run.watched.tables.size > 0) {
    return (
      <div class="empty">
        <strong>Nothing printed or called back</strong>
        <span>The watched values are in Code.</span>
      </div>
    );
  }
  if (goesOn(state)) {
    return (
      <div class="empty">
        <strong>Nothing printed yet</strong>
        <span>Prints and callbacks show here the moment the compiled program runs them.</span>
      </div>
    );
  }
  return (
    <div class="empty">
      <strong>Nothing was printed in this run</strong>
      <span>
        No jax.debug.print, jax.debug.callback or other callback was reached. A Python print inside a jitted function
        runs while tracing only.
      </span>
    </div>
  );
}
