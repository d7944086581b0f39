/** Where the program stands: why, its frames, its source, its variables, a console; or how to make it stop. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { Bar } from "./Bar";
import { Breakpoints } from "./Breakpoints";
import { Console } from "./Console";
import { Frames } from "./Frames";
import { Locals } from "./Locals";
import { Nothing } from "./Nothing";
import { Source } from "./Source";

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Debugger({ run, ui, status, dark }: Props) {
  run.watch();
  const { last, stop: current, resuming } = run.debugger;
  if (!last) return <Nothing run={run} status={status} />;
  const stands = current !== null && !resuming && !run.gone;
  const frame = last.frames[last.frame];
  return (
    <section
      class={`debugger${stands ? "" : " over"}`}
      data-testid="debugger"
      data-stop={last.id}
      data-stands={stands}
      aria-label={stands ? "Stopped" : "Where it last stopped"}
      // The focus is given to it when the program stops, so that its keys work.
      tabIndex={-1}
    >
      <Bar run={run} stop={last} stands={stands} />
      <div class="debugger-columns">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by the keyboard */}
        <section class="debugger-side" tabIndex={0} aria-label="Frames and breakpoints">
          <Frames run={run} stop={last} stands={stands} />
          <Breakpoints run={run} status={status} />
          {status.commands && (
            <small class="debugger-row" data-testid="way">
              Requests reach the kernel {status.commands}.
            </small>
          )}
        </section>
        <div class="debugger-middle">
          {frame ? (
            <Source run={run} frame={frame} stepping={stands && last.kind === "step"} />
          ) : (
            <p class="empty">No source: nothing of your code called this.</p>
          )}
          <Console run={run} ui={ui} stands={stands} />
        </div>
        <Locals run={run} ui={ui} stop={last} stands={stands} dark={dark} />
      </div>
    </section>
  );
}
