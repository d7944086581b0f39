/** The row of tabs, with arrow keys to move between them, and the filter. */
import { useEffect, useRef } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { Tab, UiState } from "../../store/ui";
import { Search } from "../search/Search";
import { tabOf, tabsOf } from "./available";

const NAMES: Readonly<Record<Tab, string>> = {
  overview: "Overview",
  streams: "Prints",
  source: "Code",
  findings: "Findings",
  timeline: "Timeline",
  calls: "Calls",
  program: "Program",
  runs: "Runs",
};
const TITLES: Readonly<Record<Tab, string>> = {
  overview: "Steps, speed, loss, findings and curves",
  streams: "What was printed",
  source: "The code, with its values beside the lines",
  findings: "What is wrong or slow, and what to write instead",
  timeline: "When things ran, and what the time went to",
  calls: "Calls of compiled functions, with their times",
  program: "What was compiled",
  runs: "All runs of this kernel, and what differs between them",
};
const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

interface Props {
  run: RunStore;
  ui: UiState;
}

export function Tabs({ run, ui }: Props) {
  run.watch();
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => run.table.refresh(run.key), [run, run.status?.state]);
  const tabs = tabsOf(run);
  const shown = tabOf(ui);
  const counts: Partial<Record<Tab, number>> = {
    source: run.watched.tables.size,
    calls: run.calls.size,
    findings: run.status?.findings ?? 0,
    runs: run.table.rows.value.length,
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const tab = tabs[(tabs.indexOf(shown) + step + tabs.length) % tabs.length] as Tab;
    ui.tab.value = tab;
    list.current?.querySelector<HTMLElement>(`#tab-${tab}`)?.focus();
  };
  return (
    <div class="tab-bar">
      <div class="tabs" role="tablist" aria-label="Views" ref={list} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            type="button"
            key={tab}
            id={`tab-${tab}`}
            data-testid={`tab-${tab}`}
            role="tab"
            class="tab"
            aria-selected={shown === tab}
            aria-controls="body"
            title={TITLES[tab]}
            tabIndex={shown === tab ? 0 : -1}
            onClick={() => {
              ui.tab.value = tab;
            }}
          >
            {NAMES[tab]}
            {(counts[tab] ?? 0) > 0 && <span class="tab-count number">{counts[tab]}</span>}
            {tab === "source" && run.debugger.stop && <span class="tab-alert">paused</span>}
          </button>
        ))}
      </div>
      <span class="grow" />
      <OnlyCall run={run} ui={ui} />
      {shown === "streams" && <Search run={run} ui={ui} />}
    </div>
  );
}

/** Shows that all views are limited to one call, and removes the limit when clicked. */
function OnlyCall({ run, ui }: Props) {
  run.watch();
  const id = ui.onlyCall.value;
  if (id === null) return null;
  return (
    <button
      type="button"
      class="toggle"
      aria-pressed="true"
      data-testid="only-call"
      title="All views show this call only. Click to show all calls"
      onClick={() => {
        ui.onlyCall.value = null;
      }}
    >
      call {id} {run.calls.get(id)?.name} ×
    </button>
  );
}
