/** The controls of the streams in the row of tabs: one stream or two, search, filter, export. */
import { useEffect, useRef, useState } from "preact/hooks";
import { count, plural } from "../../kit/format";
import { Toggle } from "../../kit/Toggle";
import { chipsOf } from "../../store/query";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { laterLines } from "../later/load";
import { Export } from "./Export";
import { unsearched, useQuery, useShown } from "./shown";

interface Props {
  run: RunStore;
  ui: UiState;
}

export function Search({ run, ui }: Props) {
  run.watch();
  return (
    <div class="search">
      <Toggle of={ui.merged} name="merged" title="One list, by arrival (m)">
        merged
      </Toggle>
      <span class="sites-toggle">
        <Toggle
          of={ui.sites}
          name="sites-toggle"
          title="Show the places in the code that print, instead of their lines"
        >
          places
        </Toggle>
      </span>
      {run.phantoms > 0 && (
        <Toggle of={ui.phantoms} name="phantoms" title="Show phantoms: prints that ran only because of vmap">
          {plural(run.phantoms, "phantom")}
        </Toggle>
      )}
      <Find run={run} ui={ui} />
      <Filter run={run} ui={ui} />
      <Export run={run} ui={ui} />
    </div>
  );
}

function Find({ run, ui }: Props) {
  run.watch();
  const text = ui.find.value;
  const found = useShown(run, ui, run.merged, text);
  const { problem } = useQuery(text);
  const current = ui.event.value;
  const at = current === null ? -1 : found.find(run.log.find(current));
  const go = (step: 1 | -1) => {
    if (found.length === 0 || text === "") return;
    const from = found.lowerBound(run.log.lowerBound(current ?? run.next));
    const next = at >= 0 ? at + step : step > 0 ? from : from - 1;
    ui.anchor.value = null;
    ui.event.value = run.log.number(found.at((next + found.length) % found.length));
  };
  return (
    <div class="field find-field" data-testid="find-box">
      <input
        type="search"
        class="find"
        data-testid="find"
        aria-label="Find in the lines: Enter for the next, Shift+Enter for the one before"
        title="Find in the lines: Enter for the next, Shift+Enter for the one before"
        aria-invalid={problem !== ""}
        placeholder="Find"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          ui.find.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
        }}
      />
      {text !== "" && (
        <>
          <output class={`number ${problem ? "bad-text" : "muted"}`} data-testid="found" data-count={found.length}>
            {problem || (at >= 0 ? `${count(at + 1)} of ${count(found.length)}` : count(found.length))}
          </output>
          <button
            type="button"
            class="step-button"
            data-testid="find-before"
            aria-label="Match before"
            title="Match before (Shift+Enter)"
            onClick={() => go(-1)}
          >
            ‹
          </button>
          <button
            type="button"
            class="step-button"
            data-testid="find-next"
            aria-label="Next match"
            title="Next match (Enter)"
            onClick={() => go(1)}
          >
            ›
          </button>
        </>
      )}
    </div>
  );
}

function Filter({ run, ui }: Props) {
  run.watch();
  const input = useRef<HTMLInputElement>(null);
  const [typing, setTyping] = useState(false);
  const query = useQuery(ui.filter.value);
  const searched = useQuery(ui.find.value).line ?? query.line;
  const missing = unsearched(run);
  const Terms = laterLines.views?.Terms;
  const wanted = typing || query.hasTerms;
  useEffect(() => {
    if (wanted) laterLines.want(run);
  }, [wanted, run]);
  const { chips, text } = Terms ? chipsOf(ui.filter.value, typing) : { chips: [], text: ui.filter.value };
  const set = (next: string, others = chips) => {
    ui.filter.value = [...others.filter((one) => !next.split(/\s+/).includes(one)), next].filter(Boolean).join(" ");
  };
  return (
    <div class="field">
      {searched && !query.problem && missing > 0 && (
        <output class="muted number hint" title="The kernel formats a line when the panel asks for it">
          {count(run.texts.size)} of {count(run.next - run.oldest)} lines searched
        </output>
      )}
      <div class="filter-box" onFocusIn={() => setTyping(true)} onFocusOut={() => setTyping(false)}>
        {Terms && wanted && <Terms run={run} input={input} chips={chips} text={text} typing={typing} set={set} />}
        <input
          ref={input}
          type="search"
          class="filter"
          data-testid="filter"
          aria-label="Filter the lines"
          aria-invalid={query.problem !== ""}
          title="text, /regex/, name: step:10-20 lane:3 device: phase: kind: process: call: in: — a minus before a term excludes it"
          placeholder={chips.length > 0 ? "" : "Filter: text, /regex/, name:, step:10-20, lane:"}
          spellcheck={false}
          value={text}
          onInput={(event) => set(event.currentTarget.value)}
        />
      </div>
    </div>
  );
}
