/** The header: one line about the whole run, with its buttons. */
import { count, plural, pluralFired, rate } from "../../kit/format";
import { stateWords } from "../../kit/states";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched } from "../../store/watched";
import type { StatusMessage } from "../../transport/wire";
import { tabOf } from "../panel/available";
import { NonFinite } from "./NonFinite";

const RETURNED = "The program has returned: only prints and callbacks can still arrive";
const FROM_FILE =
  "Read from a file: its program runs in another process, and only the panel there can pause or stop it";
const UP_TO_LOADING = "It is shown up to the moment of loading. jdw.load(path, follow=True) shows the rest";
const ELSEWHERE = "The program runs in another process, or the processes of its job have not agreed on this capture";

interface Props {
  run: RunStore;
  status: StatusMessage;
}

export function Header({ run, ui, status }: Props & { ui: UiState }) {
  run.watch();
  const { name, words } = stateOf(run, status);
  const dropped = status.dropped > 0 && `${count(status.dropped)} dropped`;
  const [amounts, end] = [amountsOf(run, status), endOf(run, status)];
  return (
    <header class={run.over ? "header over" : "header"}>
      <button
        type="button"
        class={`state ${name}`}
        data-testid="state"
        aria-expanded={ui.life.value}
        title={status.state === "loaded" ? UP_TO_LOADING : "Show or hide the life of the last call"}
        onClick={() => {
          ui.life.value = !ui.life.value;
          ui.call.value = null;
        }}
      >
        <span class="dot" aria-hidden="true" />
        {words}
      </button>
      <Called run={run} />
      <span class="title mono" title={status.title}>
        {status.title}
      </span>
      <span class="numbers muted number" title={[amounts, dropped, end].filter(Boolean).join(" · ")}>
        {amounts}
        {dropped && (
          <span class="bad-text" title="Prints and values that the kernel no longer keeps">
            {` · ${dropped}`}
          </span>
        )}
        {end && ` · ${end}`}
      </span>
      <NonFinite run={run} ui={ui} />
      <span class="grow" />
      <span class="run-actions">
        <Control run={run} ui={ui} status={status} />
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
      </span>
    </header>
  );
}

/** The execution number of the run's cell, and the name that the user gave the run. */
function Called({ run }: { run: RunStore }) {
  const row = run.table.rows.value.find(({ key }) => key === run.key);
  if (!row?.cell && !row?.name) return null;
  return (
    <span class="called" data-testid="called" title={row.name}>
      {row.cell && <span class="muted">In [{row.cell}]</span>}
      {row.name && <bdi>{row.name}</bdi>}
    </span>
  );
}

/** Returns the time of day of the last event. */
function lastTime(run: RunStore, { started }: StatusMessage): string {
  const at = new Date(1000 * (started + run.log.time(run.log.length - 1)));
  return at.toLocaleTimeString([], { hour12: false });
}

/** Says how much has arrived, and how fast. A breakpoint under `vmap` gives an event for each lane, but is one hit. */
function amountsOf(run: RunStore, { breakpoints }: StatusMessage): string {
  const { received } = run.watched;
  const kinds = new Set(firedKinds(run));
  const isHits = kinds.size === 1 && kinds.has("breakpoint") && breakpoints.length > 0;
  const fired = isHits ? breakpoints.reduce((sum, { hits }) => sum + hits, 0) : run.next - received;
  return [
    pluralFired(fired, kinds),
    received > 0 && plural(received, "watched value"),
    run.active && !run.gone && rate(run.rate),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Says why no more events come; "" if they may. */
function endOf(run: RunStore, status: StatusMessage): string {
  if (run.gone && !run.active) return "kernel gone";
  return status.state === "loaded" && run.log.length > 0 ? `last event ${lastTime(run, status)}` : "";
}

/** Yields the kinds of the sites that are in the program itself, without watched values. */
function* firedKinds(run: RunStore): Iterable<string> {
  for (const site of run.sites.values()) if (!isWatched(site)) yield site.kind;
}

function stateOf(run: RunStore, { state }: StatusMessage): { name: string; words: string } {
  const { isHolding, wanted } = run.debugger;
  if (run.gone && run.active) return { name: "gone", words: "Kernel gone" };
  if (isHolding) return { name: "waiting", words: stateWords("paused") };
  if (wanted && run.active) return { name: "waiting", words: wanted === "pause" ? "Pausing …" : "Stopping …" };
  return { name: state, words: stateWords(state) };
}

/** The buttons that pause and end the program at its next event. At a stop, the Code view has buttons to continue. */
function Control({ run, ui, status }: Props & { ui: UiState }) {
  run.watch();
  const { stop, resuming, wanted } = run.debugger;
  if (stop && !run.gone && tabOf(ui) === "source") return null;
  const held = status.stoppable || stop !== null;
  // For a run that was loaded from a file, nobody knows how requests reach the program.
  const running = status.commands ? ELSEWHERE : FROM_FILE;
  const elsewhere = status.state === "running" ? running : RETURNED;
  const why = run.over || (held ? "" : elsewhere);
  const can = !why && !resuming;
  return (
    <>
      <button
        type="button"
        class="button"
        data-testid="pause"
        disabled={!can || wanted !== ""}
        title={
          why ||
          (stop
            ? "Go on to the next stop"
            : "Pause at the next print or value; a job of several processes pauses before the same call in each")
        }
        onClick={() => (stop ? run.debugger.resume("continue") : run.debugger.pause())}
      >
        {stop ? "Resume" : "Pause"}
      </button>
      <button
        type="button"
        class="button quit"
        data-testid="halt"
        disabled={!can || wanted === "halt"}
        title={why || (stop ? "End the program here" : "End the program at its next print or value")}
        onClick={() => (stop ? run.debugger.resume("quit") : run.debugger.halt())}
      >
        Stop
      </button>
    </>
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
        pending.length > 0 && !run.gone
          ? `Wait until the prints and callbacks of ${pending.join(", ")} have arrived: jax.effects_barrier()`
          : run.over || "No print or callback is pending"
      }
      onClick={() => run.askBarrier()}
    >
      {run.barrierAsked ? "Waiting …" : "Wait"}
    </button>
  );
}
