/** The phases, processes and devices of the events. A click adds one to the filter or removes it. */
import { toggleTerm } from "../../store/query";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";

/** The most chips. The user can type other terms. */
const MOST_CHIPS = 16;

export function Chips({ run, ui }: { run: RunStore; ui: UiState }) {
  run.watch();
  const phases = [...new Set(run.streamSites.map((site) => site.phase))];
  const terms = [
    ...(phases.length > 1 ? phases : []).map((phase) => ["phase", phase] as const),
    ...(run.status?.processes ?? []).map(({ number }) => ["process", String(number)] as const),
    ...run.devices.map((device) => ["device", device] as const),
  ];
  if (terms.length === 0) return null;
  const words = ui.filter.value.split(/\s+/);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a look of its own
    <div class="chips" role="group" aria-label="Filter by phase, process or device">
      {terms.slice(0, MOST_CHIPS).map(([field, name]) => {
        const term = `${field}:${name}`;
        return (
          <button
            type="button"
            key={term}
            class="chip"
            title={`Lines of ${name} only`}
            data-term={term}
            aria-pressed={words.includes(term)}
            onClick={() => {
              ui.filter.value = toggleTerm(ui.filter.value, term);
            }}
          >
            {field === "process" ? `process ${name}` : name}
          </button>
        );
      })}
    </div>
  );
}
