/**
 * Above the code at a stop: the reason, buttons to continue, and the frames. It shows the current stop, or the last one
 * until the user closes it.
 */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { StopBody } from "../../transport/stops";
import { Bar } from "./Bar";
import { Frames } from "./Frames";

export function shownStop(run: RunStore, ui: UiState): StopBody | null {
  const { last, stop } = run.debugger;
  return last && (stop || ui.closedStop.value !== last.id) ? last : null;
}

export function standsAt(run: RunStore): boolean {
  return run.debugger.isHolding && !run.gone;
}

interface Props {
  run: RunStore;
  ui: UiState;
  stop: StopBody;
}

export function Stopped({ run, ui, stop }: Props) {
  run.watch();
  const stands = standsAt(run);
  return (
    <section
      class={`debugger${stands ? "" : " over"}`}
      data-testid="debugger"
      data-stop={stop.id}
      data-stands={stands}
      data-way={run.status?.commands}
      aria-label={stands ? "Stopped" : "Where it last stopped"}
      // It gets the focus when the program stops, so that its shortcuts work.
      tabIndex={-1}
    >
      <Bar run={run} ui={ui} stop={stop} stands={stands} />
      <Frames run={run} stop={stop} stands={stands} />
      {stands && stop.warning && (
        <p class="notes" role="note">
          {stop.warning}
        </p>
      )}
    </section>
  );
}
