/** The processes of a run that has several: their states, and which of them the streams show. */
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
      {status.processes.map((process) => {
        const term = `process:${process.number}`;
        return (
          <button
            key={process.number}
            type="button"
            class={`process ${process.sign ? "gone" : process.state}`}
            data-process={process.number}
            aria-pressed={words.includes(term)}
            title={`${process.host}: ${stateText(process)}\nFilter by ${term}, or remove that filter`}
            onClick={() => {
              ui.filter.value = toggleTerm(ui.filter.value, term);
            }}
          >
            <span class="dot" aria-hidden="true" />
            process {process.number}
            <span class="muted">{process.sign || process.last}</span>
          </button>
        );
      })}
    </div>
  );
}

function stateText({ state, sign, last, events }: ProcessMessage): string {
  return `${sign || stateWords(state)}, ${events} prints, last ${last}`;
}
