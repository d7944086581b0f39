/** The table of runs and the comparison of the ticked ones, for the panel and for JupyterLab's side panel. */
import { useEffect, useState } from "preact/hooks";
import { plural } from "../../kit/format";
import type { Compared, RunRow, RunsPorts } from "../../store/rows";
import { Charts, WhatDiffers } from "./Comparison";
import { RunsTable } from "./RunsTable";

const HINTS = ["tick two or more to compare them", "tick another to compare the two"];

interface Props {
  rows: readonly RunRow[];
  ports: RunsPorts;
  dark: boolean;
  ticked: readonly string[];
  onTicked(ticked: readonly string[]): void;
  open?: string | undefined;
  onOpen?: ((row: RunRow) => void) | undefined;
  onOpenBeside?: ((row: RunRow) => void) | undefined;
}

export function RunsView({ rows, ports, dark, ticked, onTicked, ...opening }: Props) {
  const { compared, problem, awaited } = useCompared(rows, ports, ticked);
  const tick = (key: string) => {
    onTicked(ticked.includes(key) ? ticked.filter((other) => other !== key) : [...ticked, key]);
  };
  const hint = (rows.length > 1 && HINTS[ticked.length]) || "";
  return (
    <div class="runs-view">
      <div class="runs-left">
        <div class="runs-head">
          <b>{headOf(ticked.length, rows.length, awaited)}</b>
          <output class="muted" aria-live="polite">
            {awaited > 0 && `loading the values of ${plural(awaited, awaited < ticked.length ? "more run" : "run")}…`}
          </output>
          <span class="muted runs-hint" title={hint}>
            {hint}
          </span>
          <Open ports={ports} />
        </div>
        <RunsTable
          rows={rows}
          ticked={ticked}
          onTick={tick}
          onRename={(key, name) => ports.rename(key, name)}
          colours={coloursOf(ticked, compared)}
          {...opening}
        />
        {problem && (
          <p class="compared-note bad-text" role="alert">
            {problem}
          </p>
        )}
        {compared && <WhatDiffers compared={compared} rows={rows} />}
      </div>
      {compared && <Charts compared={compared} rows={rows} dark={dark} />}
    </div>
  );
}

function headOf(ticked: number, all: number, awaited: number): string {
  if (ticked < 2) return plural(all, "run");
  return `${ticked} of ${all} ${awaited > 0 ? "ticked" : "compared"}`;
}

/**
 * Requests the comparison when the ticks change, or a ticked run has new events. `awaited` is the number of runs that
 * no answer has yet.
 */
function useCompared(rows: readonly RunRow[], ports: RunsPorts, ticked: readonly string[]) {
  const [compared, setCompared] = useState<Compared | null>(null);
  const [problem, setProblem] = useState("");
  const [answered, setAnswered] = useState<readonly string[]>([]);
  const events = rows.flatMap((row) => (ticked.includes(row.key) ? [row.events, row.name] : []));
  useEffect(() => {
    let isLate = false;
    if (ticked.length < 2) {
      setCompared(null);
      setProblem("");
      setAnswered([]);
      return;
    }
    ports.compare(ticked, (answer) => {
      if (isLate) return;
      setAnswered(ticked);
      setProblem(typeof answer === "string" ? answer : "");
      if (typeof answer !== "string") setCompared(answer);
    });
    return () => {
      isLate = true;
    };
  }, [ticked.join(), events.join(), ports]);
  const awaited = ticked.length < 2 ? 0 : ticked.filter((key) => !answered.includes(key)).length;
  return { compared: ticked.length < 2 ? null : compared, problem, awaited };
}

/** Returns the colour of each run, in the order of ticking. Runs that differ only in a seed share one. */
function coloursOf(ticked: readonly string[], compared: Compared | null): Map<string, number> {
  return new Map(
    ticked.map((key, i) => {
      const place = compared?.runs.indexOf(key) ?? -1;
      const group = compared?.groups.findIndex(({ runs }) => runs.includes(place)) ?? -1;
      return [key, group < 0 ? i : group];
    }),
  );
}

/** A field that loads the runs in a file. */
function Open({ ports }: { ports: RunsPorts }) {
  const [isAsked, setAsked] = useState(false);
  const [problem, setProblem] = useState("");
  if (!isAsked) {
    return (
      <button
        type="button"
        class="runs-icon"
        aria-label="Open a run from a file"
        title="Open a run from a file: run.jdw, or sweep/*.jdw"
        onClick={() => setAsked(true)}
      >
        +
      </button>
    );
  }
  return (
    <div class="runs-open">
      <input
        class="run-field"
        placeholder="run.jdw or sweep/*.jdw"
        aria-label="File of the run"
        title="Enter loads the run, or all runs that the pattern names; Escape leaves"
        ref={(field) => field?.focus()}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === "Escape") setAsked(false);
          const path = event.key === "Enter" && event.currentTarget.value.trim();
          // In JupyterLab, Enter does not submit a form.
          if (path) ports.load(path, (why) => (why ? setProblem(why) : setAsked(false)));
        }}
      />
      {problem && (
        <span class="bad-text" role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}
