/** One line about the run as a whole, and what can be asked of it. */
import { count, plural, rate } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";

const WORDS: Readonly<Record<string, string>> = {
  running: "Running",
  waiting: "Waiting for effects",
  done: "Done",
  failed: "Failed",
};

interface Props {
  run: RunStore;
  status: StatusMessage;
}

export function Header({ run, ui, status }: Props & { ui: UiState }) {
  run.watch();
  const active = status.state === "running" || status.state === "waiting";
  const dropped = status.dropped > 0 ? "bad-text" : "";
  return (
    <header class="header">
      <span class={`state ${run.gone && active ? "gone" : status.state}`} data-testid="state">
        <span class="dot" aria-hidden="true" />
        {run.gone && active ? "Kernel gone" : (WORDS[status.state] ?? status.state)}
      </span>
      <span class="title mono" title={status.title}>
        {status.title}
      </span>
      <span class="numbers muted number">
        {plural(run.next, "event")}
        {active && !run.gone && ` · ${rate(run.rate)}`} ·{" "}
        <span class={dropped} title="Events that the kernel no longer keeps">
          {count(status.dropped)} dropped
        </span>
        {run.gone && !active && " · kernel gone"}
      </span>
      <span class="grow" />
      <BarrierButton run={run} status={status} />
      <button
        type="button"
        class="button"
        aria-label="Keys"
        title="Keys (?)"
        onClick={() => {
          ui.keys.value = true;
        }}
      >
        ?
      </button>
    </header>
  );
}

function BarrierButton({ run, status }: Props) {
  run.watch();
  const { pending } = status.barrier;
  return (
    <button
      type="button"
      class="button"
      data-testid="barrier"
      disabled={pending.length === 0 || run.gone || run.barrierAsked}
      aria-busy={run.barrierAsked}
      title={
        pending.length > 0 ? `Wait until the effects of ${pending.join(", ")} have drained` : "No effects are pending"
      }
      onClick={() => run.askBarrier()}
    >
      {run.barrierAsked ? "Barrier …" : "Barrier"}
    </button>
  );
}
