/** The row of tabs, moved along with the arrow keys, and the filter. */
import { useRef } from "preact/hooks";
import { parseQuery } from "../../store/filter";
import type { RunStore } from "../../store/run";
import type { Tab, UiState } from "../../store/ui";

const TABS: readonly [Tab, string][] = [
  ["streams", "Streams"],
  ["plots", "Plots"],
  ["calls", "Calls"],
];
const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

interface Props {
  run: RunStore;
  ui: UiState;
}

export function Tabs({ run, ui }: Props) {
  run.watch();
  const list = useRef<HTMLDivElement>(null);
  const counts: Record<Tab, number> = { streams: 0, plots: run.series.size, calls: run.calls.size };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const at = TABS.findIndex(([tab]) => tab === ui.tab.value);
    const [tab] = TABS[(at + step + TABS.length) % TABS.length] as [Tab, string];
    ui.tab.value = tab;
    list.current?.querySelector<HTMLElement>(`#tab-${tab}`)?.focus();
  };
  return (
    <div class="tab-bar">
      <div class="tabs" role="tablist" aria-label="Views" ref={list} onKeyDown={onKeyDown}>
        {TABS.map(([tab, name]) => (
          <button
            type="button"
            key={tab}
            id={`tab-${tab}`}
            data-testid={`tab-${tab}`}
            role="tab"
            class="tab"
            aria-selected={ui.tab.value === tab}
            aria-controls="body"
            tabIndex={ui.tab.value === tab ? 0 : -1}
            onClick={() => {
              ui.tab.value = tab;
            }}
          >
            {name}
            {counts[tab] > 0 && <span class="tab-count number">{counts[tab]}</span>}
          </button>
        ))}
      </div>
      <span class="grow" />
      {ui.tab.value === "streams" && <Filter run={run} ui={ui} />}
    </div>
  );
}

function Filter({ run, ui }: Props) {
  run.watch();
  const query = parseQuery(ui.filter.value);
  const hint = query.line ? `in the ${run.texts.size.toLocaleString("en")} lines loaded` : "";
  return (
    <>
      <span class={`filter-hint ${query.problem ? "bad-text" : "muted"}`}>{query.problem || hint}</span>
      <input
        type="search"
        class="filter"
        data-testid="filter"
        aria-label="Filter the lines"
        aria-invalid={query.problem !== ""}
        placeholder="Filter: text, /regex/, site:name"
        spellcheck={false}
        value={ui.filter.value}
        onInput={(event) => {
          ui.filter.value = event.currentTarget.value;
        }}
      />
    </>
  );
}
