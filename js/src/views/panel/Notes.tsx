/** Notes of the kernel or the page about the run. Each is a line that can be opened and dismissed. */
import { Words } from "../../kit/Words";
import type { RunStore } from "../../store/run";
import { toggled, type UiState } from "../../store/ui";

const GONE = "The kernel is gone. What had arrived is still here; run the cell again for the rest.";

interface Props {
  run: RunStore;
  ui: UiState;
  notes: readonly string[];
}

export function Notes({ run, ui, notes }: Props) {
  run.watch();
  const lost = run.gone && run.active ? [GONE] : [];
  const shown = [...new Set([...lost, ...notes])].filter(
    (note) => !ui.dismissed.value.has(note) && note !== run.status?.cost,
  );
  if (!run.problem && shown.length === 0) return null;
  return (
    <ul class="notes" data-testid="notes" aria-label="Notes">
      {run.problem && <Note text={run.problem} tone="bad-text" ui={ui} dismiss={() => run.complain("")} />}
      {shown.map((note) => (
        <Note
          key={note}
          text={note}
          ui={ui}
          dismiss={() => {
            ui.dismissed.value = toggled(ui.dismissed.value, note);
          }}
        />
      ))}
    </ul>
  );
}

function Note({ text, tone = "", ui, dismiss }: { text: string; tone?: string; ui: UiState; dismiss(): void }) {
  const isOpen = ui.openNotes.value.has(text);
  return (
    <li class={`note ${tone}`}>
      <button
        type="button"
        class="note-text"
        title={isOpen ? undefined : text}
        aria-expanded={isOpen}
        onClick={() => {
          ui.openNotes.value = toggled(ui.openNotes.value, text);
        }}
      >
        <Words text={text} />
      </button>
      <button
        type="button"
        class="close"
        title="Dismiss the note"
        aria-label={`Dismiss: ${text}`}
        onClick={(event) => {
          focusBeside(event.currentTarget);
          dismiss();
        }}
      >
        ×
      </button>
    </li>
  );
}

/**
 * Keeps the focus in the panel when a note is dismissed by keyboard: moves it to the next note, the previous one, or
 * the selected tab.
 */
function focusBeside(button: HTMLElement): void {
  const note = button.closest("li");
  const beside = (note?.nextElementSibling ?? note?.previousElementSibling)?.querySelector<HTMLElement>(".close");
  (beside ?? button.closest(".panel")?.querySelector<HTMLElement>("[role=tab][aria-selected=true]"))?.focus();
}
