/** The menu that copies the selected lines and exports the shown events. */
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../../kit/format";
import { copy, download } from "../../kit/give";
import type { RunStore } from "../../store/run";
import { asPython, records, toCsv } from "../../store/table";
import type { UiState } from "../../store/ui";
import { selectedEvents, useShown } from "./shown";

const POLL_MS = 30;

interface Props {
  run: RunStore;
  ui: UiState;
}

export function Export({ run, ui }: Props) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const root = menu.current?.getRootNode();
    if (!open || !root) return;
    const close = ({ target }: Event) => {
      if (menu.current && !menu.current.contains(target as Node)) menu.current.open = false;
    };
    root.addEventListener("pointerdown", close);
    root.addEventListener("focusin", close);
    return () => {
      root.removeEventListener("pointerdown", close);
      root.removeEventListener("focusin", close);
    };
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !menu.current?.open) return;
    menu.current.open = false;
    menu.current.querySelector("summary")?.focus();
    event.stopPropagation();
  };
  return (
    <details
      ref={menu}
      class="menu"
      onKeyDown={onKeyDown}
      data-testid="export"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary class="toggle" aria-label="Copy and export" title="Copy and export">
        ⋯
      </summary>
      {open && <Choices run={run} ui={ui} />}
    </details>
  );
}

function Choices({ run, ui }: Props) {
  run.watch();
  const [doing, setDoing] = useState("");
  const [problem, setProblem] = useState("");
  const shown = useShown(run, ui, run.merged);
  const lines = plural(selectedEvents(run, ui).length, "selected line");
  const write = async (kind: "csv" | "json") => {
    setDoing("Loading lines …");
    while (run.wantAllLines()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const rows = records(run, shown);
    const text = kind === "csv" ? toCsv(rows) : JSON.stringify([...rows], null, 1);
    download(fileName(run, kind), new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }));
    setDoing("");
  };
  const toParquet = () => {
    setDoing("Writing …");
    run.ask({ type: "file", format: "parquet" }, (answer) => {
      setDoing("");
      setProblem(typeof answer === "string" ? answer : "");
      if (typeof answer !== "string" && answer.type === "file") {
        download(fileName(run, "parquet"), new Blob([answer.bytes]));
      }
    });
  };
  return (
    <div class="menu-list">
      <button
        type="button"
        title="Copy the lines that are chosen, as text"
        disabled={ui.event.value === null}
        onClick={() => copyLines(run, ui)}
      >
        Copy {lines} <kbd>c</kbd>
      </button>
      <button
        type="button"
        title="Copy the expressions that give their values in Python"
        disabled={ui.event.value === null}
        onClick={() => copyPython(run, ui)}
      >
        Copy {lines} as Python <kbd>p</kbd>
      </button>
      {(["csv", "json"] as const).map((kind) => (
        <button
          type="button"
          key={kind}
          disabled={doing !== ""}
          data-testid={`export-${kind}`}
          title="A file of the lines that the filter shows"
          onClick={() => write(kind)}
        >
          {doing || `Export ${plural(shown.length, "row")} as ${kind.toUpperCase()}`}
        </button>
      ))}
      <button
        type="button"
        disabled={run.gone || doing !== ""}
        data-testid="export-parquet"
        title="A file of all lines with their values, for pandas, DuckDB or Polars"
        onClick={toParquet}
      >
        {doing || `Export all ${plural(run.next - run.oldest, "line")} as Parquet`}
      </button>
      {problem && <p class="bad-text">{problem}</p>}
    </div>
  );
}

function fileName(run: RunStore, ending: string): string {
  return `${run.status?.title.replace(/\W+/g, "_").replace(/^_+|_+$/g, "") || "run"}.${ending}`;
}

export function copyLines(run: RunStore, ui: UiState): Promise<void> {
  const lines = selectedEvents(run, ui).map((number) => run.texts.get(number) ?? "");
  return copy(lines.join("\n"));
}

export function copyPython(run: RunStore, ui: UiState): Promise<void> {
  return copy(asPython(run.key, selectedEvents(run, ui), run.oldest));
}
