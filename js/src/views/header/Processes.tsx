/** The processes of a run of several, how each does, and which of them the streams show. */
import { stateWords } from "../../kit/states";
import { toggleTerm } from "../../store/query";
import type { UiState } from "../../store/ui";
import type { ProcessMessage, StatusMessage } from "../../transport/wire";

export function Processes({ ui, status }: { ui: UiState; status: StatusMessage }) {
  if (status.processes.length === 0) return null;
  const words = ui.filter.value.split(/\s+/);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a look of its own
    <div class="processes" role="group" aria-label="Processes" data-testid="processes">
      {status.processes.map((one) => {
        const term = `process:${one.number}`;
        return (
          <button
            key={one.number}
            type="button"
            class={`process ${one.sign ? "gone" : one.state}`}
            data-process={one.number}
            aria-pressed={words.includes(term)}
            title={`${one.host}: ${told(one)}\nFilter by ${term}, or remove that filter`}
            onClick={() => {
              ui.filter.value = toggleTerm(ui.filter.value, term);
            }}
          >
            <span class="dot" aria-hidden="true" />
            process {one.number}
            <span class="muted">{one.sign || one.last}</span>
          </button>
        );
      })}
    </div>
  );
}

function told({ state, sign, last, events }: ProcessMessage): string {
  return `${sign || stateWords(state)}, ${events} prints, last ${last}`;
}
