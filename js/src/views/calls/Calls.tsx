/** The calls of jitted functions as a table. Selecting a call shows its stages above. */
import { arrowMove } from "../../kit/arrows";
import { count, plural, seconds } from "../../kit/format";
import { callStateWords, wasEnded } from "../../kit/states";
import type { Ran } from "../../store/flights";
import { arrival, failed, lasted, launched, runStart } from "../../store/life";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { CallMessage, StatusMessage } from "../../transport/wire";
import { NoCalls } from "./NoCalls";

const COLUMNS = ["call", "function", "state", "trace", "lower", "compile", "ran", "effects", "prints, values"];
const TITLES: Readonly<Record<string, string>> = {
  call: "Counted from 0, as run.calls does",
  "prints, values": "Prints, callbacks and watched values that came from the call",
  ran: "How long the program ran, from dispatch until its outputs were ready. For calls in flight at the same time it is their mean. A dash: it is not known",
};
/** The number of newest calls to show. */
const MOST_ROWS = 500;

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
}

export function Calls({ run, ui, status }: Props) {
  run.watch();
  const calls = [...run.calls.values()].reverse();
  if (calls.length === 0) {
    return <NoCalls status={status} />;
  }
  const shown = ui.call.value ?? calls[0]?.id;
  const listed = calls.slice(0, MOST_ROWS);
  const reached = listed.find(({ id }) => id === shown) ?? listed[0];
  const columns = calls.some(({ error }) => error) ? [...COLUMNS, "error"] : COLUMNS;
  return (
    <div class="calls" data-testid="calls">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col" class={`column-${column.split(",")[0]}`} title={TITLES[column]}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={move}>
          {listed.map((call) => (
            <CallRow
              key={call.id}
              call={call}
              ran={run.flights.ran(call)}
              barrier={status.barrier.state}
              columns={columns.length}
              chosen={call.id === shown}
              isReached={call === reached}
              choose={() => {
                ui.call.value = call.id;
              }}
              openProgram={
                status.captured &&
                (() => {
                  ui.program.value = call.id;
                  ui.tab.value = "program";
                })
              }
            />
          ))}
        </tbody>
      </table>
      {calls.length > MOST_ROWS && <p class="muted more">{plural(calls.length - MOST_ROWS, "earlier call")}</p>}
    </div>
  );
}

/** The Tab key reaches one of the calls; the arrow keys move to the others. */
function move(event: KeyboardEvent): void {
  const step = arrowMove(event)?.[0];
  if (!step) return;
  const names = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[aria-pressed]")];
  const next = names[names.indexOf(event.target as HTMLButtonElement) + step];
  next?.focus();
  next?.click();
}

interface RowProps {
  call: CallMessage;
  ran: Ran | null;
  barrier: string;
  columns: number;
  chosen: boolean;
  isReached: boolean;
  choose: () => void;
  openProgram: (() => void) | false;
}

function CallRow({ call, ran, barrier, columns, chosen, isReached, choose, openProgram }: RowProps) {
  const bad = failed(call);
  return (
    <>
      <tr
        class={`${bad ? (wasEnded(call.state) ? "ended" : "failed") : ""}${chosen ? " chosen" : ""}`}
        data-call={call.id}
        data-state={call.state}
      >
        <td class="number">{call.id}</td>
        <th scope="row">
          <button
            type="button"
            class="mono"
            tabIndex={isReached ? 0 : -1}
            aria-pressed={chosen}
            onClick={choose}
            title="Show the life of this call"
          >
            {call.name}
          </button>
          {chosen && openProgram && (
            <button type="button" class="link" onClick={openProgram} title="Show the program that it has run">
              program…
            </button>
          )}
        </th>
        <td class="state-word">{callStateWords(call.state)}</td>
        <td class="number">{duration(call.trace)}</td>
        <td
          class="number"
          title={
            call.numba === null
              ? undefined
              : `Not included: ${seconds(call.numba)} in which Numba was loaded, or compiled the functions that read values`
          }
        >
          {duration(call.lower)}
        </td>
        <td class="number">{call.compile === null && launched(call) ? "cached" : duration(call.compile)}</td>
        <td class="number" title={ran ? timeTitle(ran) : undefined}>
          {ran ? lasted(ran) : "–"}
        </td>
        <td class="number">{effectsOf(call, barrier)}</td>
        <td class="number">{count(call.events)}</td>
        {columns > COLUMNS.length && (
          <td class="error" title={call.error}>
            {call.error.split("\n")[0]}
          </td>
        )}
      </tr>
      {call.retraced && (
        <tr class="traced">
          <td />
          <td colSpan={columns - 1} class="mono" title="What differs from the trace before that is most like it">
            traced again: {call.retraced.replaceAll("`", "")}
          </td>
        </tr>
      )}
      {call.prints.map((line, i) => (
        <tr key={i} class="traced">
          <td />
          <td colSpan={columns - 1} class="mono" title="Python's print ran while JAX traced the function">
            traced: {line}
          </td>
        </tr>
      ))}
    </>
  );
}

function timeTitle({ of }: Ran): string {
  return of > 1
    ? `The mean of ${plural(of, "call")} that followed one another without a pause: the end of each single call is not known exactly`
    : "From the dispatch until the outputs were ready";
}

function effectsOf(call: CallMessage, barrier: string): string {
  if (!call.effects) return "none";
  if (failed(call) && call.drained === null) return "–";
  if (call.drained !== null) return arrival(call.drained, call.ready ?? runStart(call));
  return barrier === "timeout" ? "not arrived" : "waiting";
}

function duration(value: number | null): string {
  return value === null ? "–" : seconds(value);
}
