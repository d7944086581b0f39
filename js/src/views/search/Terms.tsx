/**
 * The terms of the filter as chips, and completions below the field. ↑ ↓ select a completion, Enter or Tab inserts it.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Query } from "../../store/query";
import type { RunStore } from "../../store/run";
import { completed, completionsOf } from "./completions";

interface Props {
  run: RunStore;
  input: { current: HTMLInputElement | null };
  chips: readonly string[];
  /** The text beside the chips. */
  text: string;
  /** Whether the field has the focus. */
  typing: boolean;
  set: (text: string, chips?: string[]) => void;
}

export function Terms({ run, input, chips, text, typing, set }: Props) {
  run.watch();
  const [at, setAt] = useState(-1);
  const [closed, setClosed] = useState(false);
  const { hint, problem } = new Query(text);
  const found = typing && !closed && !problem ? completionsOf(run, text) : [];
  const take = (i: number) => {
    const completion = found[i];
    if (!completion) return;
    set(completed(text, completion.term) + (completion.isField ? "" : " "));
    input.current?.focus();
    setAt(-1);
  };
  const without = (chip: string) => {
    set(
      text,
      chips.filter((other) => other !== chip),
    );
    input.current?.focus();
  };
  // The chips are in one row, which is scrolled to its end.
  const row = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (row.current) row.current.scrollLeft = row.current.scrollWidth;
  }, [chips.length]);
  const onKey = useRef<(event: KeyboardEvent) => void>(() => {});
  onKey.current = (event) => {
    const last = chips.at(-1);
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move && found.length > 0) setAt((at + move + found.length + (at < 0 && move < 0 ? 1 : 0)) % found.length);
    else if ((event.key === "Enter" || event.key === "Tab") && at >= 0) take(at);
    else if (event.key === "Enter" && text && !text.endsWith(" ")) set(`${text} `);
    else if (event.key === "Escape" && found.length > 0) setClosed(true);
    else if (event.key === "Backspace" && text === "" && last) set(last, chips.slice(0, -1));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  useEffect(() => {
    const field = input.current;
    const listen = (event: KeyboardEvent) => onKey.current(event);
    field?.addEventListener("keydown", listen);
    return () => field?.removeEventListener("keydown", listen);
  }, [input]);
  useEffect(() => {
    setClosed(false);
    setAt(-1);
  }, [text, typing]);
  useEffect(() => {
    const field = input.current;
    field?.setAttribute("aria-autocomplete", "list");
    if (found.length > 0) field?.setAttribute("aria-describedby", "filter-terms-output");
    return () => field?.removeAttribute("aria-describedby");
  }, [found.length > 0]);
  return (
    <>
      {chips.length > 0 && (
        <span class="filter-chips" ref={row}>
          {chips.map((chip) => (
            <button
              type="button"
              key={chip}
              class="filter-chip"
              data-testid="filter-chip"
              title={`Only ${chip}: click to remove this filter`}
              aria-label={`Remove ${chip} from the filter`}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => without(chip)}
            >
              {chip.replace(":", ": ")} <span aria-hidden="true">×</span>
            </button>
          ))}
        </span>
      )}
      <output class="unseen" id="filter-terms-output" aria-live="polite">
        {at >= 0 ? found[at]?.term : found.length > 0 ? `${found.length} completions, ↓ chooses` : ""}
      </output>
      {(found.length > 0 || (typing && hint)) && (
        <div class="filter-terms" data-testid="filter-terms" onPointerDown={(event) => event.preventDefault()}>
          {hint && <p class={problem ? "bad-text" : "muted"}>{hint}</p>}
          {found.map(({ term, words }, i) => (
            <button
              type="button"
              key={term}
              tabIndex={-1}
              data-term={term}
              title={words}
              class={i === at ? "filter-term chosen" : "filter-term"}
              onClick={() => take(i)}
            >
              <b class="mono">{term}</b>
              <span class="muted">{words}</span>
            </button>
          ))}
        </div>
      )}
    </>
  );
}
