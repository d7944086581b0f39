/**
 * The stages of one call, with the state of its effects barrier, and the same in words for screen readers. The strip is
 * shown if something is pending, slow or wrong, or if the user opened it.
 */

import { useEffect, useState } from "preact/hooks";
import { count } from "../../kit/format";
import { stateWords } from "../../kit/states";
import { apartInWords, failed, needsLook, type Stage, stagesOf, typicalOf } from "../../store/life";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { CallMessage, StatusMessage } from "../../transport/wire";
import { elapsed } from "./elapsed";

const ANNOUNCE_MS = 2000;

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
}

export function Life({ run, ui, status }: Props) {
  run.watch();
  const calls = [...run.calls.values()];
  const selected = calls.findIndex((call) => call.id === ui.call.value);
  const at = selected < 0 ? calls.length - 1 : selected;
  const call = calls[at];
  const isChosen = ui.life.value || ui.call.value !== null;
  if (!call) return isChosen || !status.captured ? <NoCall over={!run.active} status={status} /> : null;
  const now = elapsed(run, status);
  const stages = stagesOf(call, status.barrier, now, run.flights.ran(call), run.debugger.isHolding);
  // At a stop, the debugger shows where the program is.
  const isOver = !run.active || run.gone || run.debugger.isHolding;
  const isOpen =
    isChosen || (!isOver && needsLook(call, status.barrier, now, typicalOf(calls, call.name))) || failed(call);
  if (!isOpen) return <Announcement state={status.state} call={call} stages={stages} />;
  return (
    <div class="life" data-testid="life" data-call={call.id}>
      {calls.length > 1 && <Chooser calls={calls} at={at} ui={ui} />}
      {stages.map((stage) => (
        <div key={stage.name} class={`stage ${stage.state} ${stage.name.split(" ")[0]}`} title={inWords(stage)}>
          <b>{stage.name}</b> <span>{stage.detail}</span>
        </div>
      ))}
      <Announcement state={status.state} call={call} stages={stages} />
    </div>
  );
}

function NoCall({ over, status: { captured, apart } }: { over: boolean; status: StatusMessage }) {
  return (
    <div class="life" data-testid="life">
      <div class="stage todo">
        {!captured
          ? "This program was compiled outside a capture: only its breakpoints are recorded."
          : over
            ? "No compiled function was called."
            : apart[0] > 0
              ? `No call yet. ${apartInWords(apart)}`
              : "No call yet: the life of the first compiled call shows here."}
      </div>
    </div>
  );
}

function Chooser({ calls, at, ui }: { calls: CallMessage[]; at: number; ui: UiState }) {
  const choose = (i: number) => {
    ui.call.value = i >= calls.length - 1 ? null : (calls[i]?.id ?? null);
  };
  return (
    <div class="chooser number" title="Counted from 0, as run.calls does">
      <button
        type="button"
        aria-label="Earlier call"
        title="Earlier call"
        disabled={at === 0}
        onClick={() => choose(at - 1)}
      >
        ‹
      </button>
      <span class="chosen-call">
        <b class="mono" title={calls[at]?.name}>
          {calls[at]?.name}
        </b>
        <span class="muted">
          call {calls[at]?.id} · {count(calls.length)} in all
        </span>
      </span>
      <button
        type="button"
        aria-label="Later call"
        title="Later call"
        disabled={at === calls.length - 1}
        onClick={() => choose(at + 1)}
      >
        ›
      </button>
    </div>
  );
}

/** Announces a stage when it changes, but not more often than one can listen. */
function Announcement({ state, call, stages }: { state: string; call: CallMessage; stages: Stage[] }) {
  const [announced, announce] = useState("");
  const states = stages.map((stage) => `${stage.name} ${stage.state}`).join();
  const news = `${state} ${call.id} ${states}`;
  // A change of the durations alone is not announced.
  useEffect(() => {
    const reached = stages.filter((stage) => stage.state !== "todo");
    const words = `${stateWords(state)}. Call ${call.name}: ${reached.map(inWords).join(", ")}`;
    const timer = setTimeout(() => announce(words), ANNOUNCE_MS);
    return () => clearTimeout(timer);
  }, [news]);
  return (
    <span class="unseen" role="status" aria-live="polite">
      {announced}
    </span>
  );
}

function inWords({ name, detail }: Stage): string {
  return detail ? `${name} ${detail}` : name;
}
