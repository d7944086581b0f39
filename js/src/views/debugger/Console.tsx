/**
 * The console: JAX's debugger commands and Python expressions in the selected frame, with output, history and
 * completion.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Matches } from "../../store/debugger";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { completed, lineOf, recalled } from "./edit";
import { meanwhile } from "./ways";

const MOST_MATCHES = 200;
const MOST_LINES = 6;

interface Props {
  run: RunStore;
  ui: UiState;
  stands: boolean;
}

export function Console({ run, ui, stands }: Props) {
  run.watch();
  return (
    <div class="console mono">
      <Log run={run} />
      <Prompt run={run} ui={ui} stands={stands} />
    </div>
  );
}

function Log({ run }: { run: RunStore }) {
  run.watch();
  const log = useRef<HTMLDivElement>(null);
  const typed = run.debugger.console;
  const [newest] = typed.slice(-1);
  useLayoutEffect(() => {
    if (log.current) log.current.scrollTop = log.current.scrollHeight;
  }, [newest, newest?.output]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by the keyboard
    <div class="log" ref={log} role="log" aria-label="Console" tabIndex={0} data-testid="console">
      {typed.map(({ text, output, error, took }, i) => (
        <div key={i} data-typed={text} data-ms={output === null ? undefined : took.toFixed(1)}>
          <pre class="muted">{text}</pre>
          <pre class={error ? "bad-text" : ""}>{output ?? "…"}</pre>
        </div>
      ))}
    </div>
  );
}

function Prompt({ run, ui, stands }: Props) {
  run.watch();
  const input = useRef<HTMLTextAreaElement>(null);
  const [back, setBack] = useState(0);
  const [found, setFound] = useState<Matches | null>(null);
  const [at, setAt] = useState(0);
  const draft = ui.draft.value;

  const write = (text: string, cursor = text.length) => {
    ui.draft.value = text;
    if (!input.current) return;
    input.current.value = text;
    input.current.setSelectionRange(cursor, cursor);
  };
  const take = (matches: Matches, match: string) => {
    const cursor = input.current?.selectionStart ?? draft.length;
    write(draft.slice(0, matches.start) + match + draft.slice(cursor), matches.start + match.length);
    setFound(null);
  };
  const complete = (cursor: number) =>
    run.debugger.complete(draft, cursor, (matches) => {
      // The user has typed since, so the answer is outdated.
      if (ui.draft.value !== draft || matches.matches.length === 0) return;
      const common = completed(draft, cursor, matches);
      const [only] = matches.matches;
      if (matches.matches.length === 1 && only) return take(matches, only);
      write(common.text, common.cursor);
      setAt(0);
      setFound(matches);
    });
  const enter = () => {
    if (draft.trim()) run.debugger.run(draft.trimEnd());
    write("");
    setBack(0);
  };
  const recall = (by: number) => {
    const { text, back: next } = recalled(run.debugger.console, back + by);
    setBack(next);
    write(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const handled = () => {
      event.preventDefault();
      event.stopPropagation();
    };
    const area = event.currentTarget as HTMLTextAreaElement;
    const { line, lines } = lineOf(draft, area.selectionStart);
    const arrow = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (event.isComposing) return;
    if (event.key === "Escape") {
      handled();
      if (found) setFound(null);
      else area.closest(".source-view")?.querySelector<HTMLElement>(".debugger")?.focus();
    } else if (found && (event.key === "Tab" || arrow)) {
      handled();
      const { length } = found.matches.slice(0, MOST_MATCHES);
      setAt((at + (arrow || (event.shiftKey ? -1 : 1)) + length) % length);
    } else if (event.key === "Enter" && !event.shiftKey) {
      handled();
      if (found) take(found, found.matches[at] ?? "");
      else enter();
    } else if (event.key === "Tab" && !event.shiftKey && draft.slice(0, area.selectionStart).trim()) {
      handled();
      complete(area.selectionStart);
    } else if ((arrow < 0 && line === 0) || (arrow > 0 && line === lines - 1 && back > 0)) {
      handled();
      recall(-arrow);
    }
  };
  return (
    <div class="prompt">
      {found && <MatchList found={found} at={at} take={(match) => take(found, match)} />}
      <span aria-hidden="true">›</span>
      <textarea
        ref={input}
        class="mono"
        data-testid="prompt"
        title="Enter runs it; ↑ and ↓ bring earlier lines, Tab completes names"
        aria-label="Console: Python, or one of JAX's commands"
        aria-autocomplete="list"
        aria-controls={found ? "matches" : undefined}
        aria-activedescendant={found ? `match-${at}` : undefined}
        placeholder={stands ? "Python expression, or help" : meanwhile(run)}
        spellcheck={false}
        autocomplete="off"
        rows={Math.min(MOST_LINES, draft.split("\n").length)}
        disabled={!stands}
        value={draft}
        onInput={(event) => {
          ui.draft.value = event.currentTarget.value;
          setFound(null);
        }}
        onKeyDown={onKeyDown}
      />
    </div>
  );
}

/** The completions. They are selected from the text field, which keeps the focus. */
function MatchList({ found, at, take }: { found: Matches; at: number; take: (match: string) => void }) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => list.current?.children[at]?.scrollIntoView?.({ block: "nearest" }), [at]);
  return (
    <div class="matches" role="listbox" id="matches" aria-label="Completions" data-testid="matches" ref={list}>
      {found.matches.slice(0, MOST_MATCHES).map((match, i) => (
        <button
          type="button"
          role="option"
          tabIndex={-1}
          key={match}
          id={`match-${i}`}
          title="Take this completion"
          aria-selected={i === at}
          onClick={() => take(match)}
        >
          {match}
        </button>
      ))}
    </div>
  );
}
