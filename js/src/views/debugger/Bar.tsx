/** The bar of a stop: why and where the program stopped, buttons to continue, and warnings. */
import { plural, seconds } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { StopBody } from "../../transport/stops";
import { Icon } from "./Icon";
import { Lane } from "./Lane";
import { SetValue } from "./SetValue";
import { meanwhile, STEPS, WAYS } from "./ways";

interface Props {
  run: RunStore;
  ui: UiState;
  stop: StopBody;
  stands: boolean;
}

export function Bar({ run, ui, stop, stands }: Props) {
  run.watch();
  const reason = stands ? stop.reason : stateAfter(run);
  return (
    <>
      <div class="toolbar">
        <strong class="reason" data-testid="reason" title={reason}>
          {reason}
        </strong>
        {(stop.kind === "step" ? STEPS : WAYS).map(({ how, name, key, also, words }) => (
          <button
            type="button"
            key={how}
            class={how === "quit" ? "button quit" : "button"}
            data-resume={how}
            title={stands ? `${words} (${[key, also].filter(Boolean).join(", ")})` : stateAfter(run)}
            aria-keyshortcuts={[key, also].filter(Boolean).join(" ")}
            disabled={!stands}
            onClick={() => run.debugger.resume(how)}
          >
            <Icon how={how} />
            {name} <kbd>{also || key}</kbd>
          </button>
        ))}
        {!run.debugger.stop && (
          <button
            type="button"
            class="close"
            aria-label="Close the stop"
            title="Show the code without the debugger"
            onClick={() => {
              ui.closedStop.value = stop.id;
            }}
          >
            ×
          </button>
        )}
      </div>
      <div class="toolbar stop-facts muted number" data-testid="facts">
        {factsOf(stop).map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {stop.lanes.sizes.length > 0 && <Lane run={run} lanes={stop.lanes} stands={stands} />}
        <span class="grow" />
        {stands && stop.replaceable && <SetValue run={run} value={stop.replaceable} />}
        {stands && stop.timeout !== null && <Deadline run={run} timeout={stop.timeout} />}
      </div>
    </>
  );
}

function stateAfter(run: RunStore): string {
  if (run.gone) return "The kernel is gone, and with it the stopped program. Run the cell again.";
  return `${run.active ? "Running …" : `${meanwhile(run)}.`} This was the last stop.`;
}

function factsOf({ name, phase, step, device, thread, hits, frames, kind }: StopBody): string[] {
  return [
    frames[0]?.where ?? "",
    name,
    phase,
    step.length > 0 ? `step ${step.join(", ")}` : "",
    device,
    thread === "MainThread" ? "" : `thread ${thread}`,
    kind === "breakpoint" && hits > 1 ? plural(hits, "hit") : "",
  ].filter((fact, i, all) => fact && all.indexOf(fact) === i);
}

function Deadline({ run, timeout }: { run: RunStore; timeout: number }) {
  run.watch();
  const remaining = timeout - (performance.now() - run.debugger.began) / 1000;
  return (
    <span data-testid="deadline">
      goes on by itself in {seconds(Math.max(0, Math.ceil(remaining)))}{" "}
      <button type="button" class="mini" title="Stay here until you go on" onClick={() => run.debugger.keepWaiting()}>
        keep waiting
      </button>
    </span>
  );
}
