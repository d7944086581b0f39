/** One file: names, code and inspector side by side. At a stop also the reason, the variables and a console. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched, type WatchSite } from "../../store/watched";
import type { FrameMessage, StopBody } from "../../transport/stops";
import type { SourceName, StatusMessage } from "../../transport/wire";
import { assigned } from "../debugger/assigned";
import { Breakpoints } from "../debugger/Breakpoints";
import { Console } from "../debugger/Console";
import { Expressions } from "../debugger/Expressions";
import { Locals } from "../debugger/Locals";
import { Stopped, standsAt } from "../debugger/Stopped";
import { Inspector } from "../inspector/Inspector";
import { PrintInspector } from "../inspector/PrintInspector";
import { Together } from "../inspector/Together";
import { printedLeaves } from "../names/leaf";
import { Names } from "../names/Names";
import { CodeList } from "./CodeList";
import type { CodeFile } from "./files";
import { printsOf } from "./prints";
import { lookOf } from "./reading";
import { codeOf, linesOf, rowsOf, type Value, valuesOf } from "./rows";
import { Toolbar } from "./Toolbar";

const LIVE_MS = 90;
const NONE: readonly SourceName[] = [];

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
  file: CodeFile;
  files: CodeFile[];
  /** Whether the file has values, so that the kernel can send its source. */
  isKnown: boolean;
  stop: StopBody | null;
  frame: FrameMessage | null;
}

export function Workspace({ run, ui, status, dark, file, files, isKnown, stop, frame: looked }: Props) {
  run.watch();
  const frame = looked?.file === file.file ? looked : null;
  const answer = isKnown ? run.sources.get(file.file, !run.gone) : undefined;
  const source = typeof answer === "object" ? answer : null;
  const sites = run.watched.tables.size;
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const values = useMemo(() => valuesOf(run, file.file), [run, file.file, sites]);
  const code = useMemo(
    () => (frame && !source ? linesOf(frame.source, frame.first_line) : codeOf(run, file.file, source)),
    [run, file.file, source, frame?.source, source ? 0 : sites],
  );
  const names = source?.names ?? NONE;
  const rows = useMemo(() => rowsOf(code, values.lines, open, names), [code, values, open, names]);
  const all = useMemo(() => [...values.lines.values()].flat(), [values]);
  const set = useMemo(() => (frame ? assigned(frame) : undefined), [frame]);
  const newest = useNewest(run);
  const look = lookOf(run, ui, newest);
  const chosen = useChosen(run, ui, sites);
  const prints = useMemo(() => printsOf(run, file.file), [run, file.file, run.sites.size]);
  const print = chosen || ui.value.value === null ? undefined : run.sites.get(ui.value.value);
  const stands = standsAt(run);
  const together = !chosen && !print && ui.ticked.value.size > 0;
  const anyName = sites > 0 || printedLeaves(run).length > 0;
  const states = [
    chosen || print || stop || together ? "inspecting" : "",
    stop ? "stopped" : "",
    stop && !stands ? "over" : "",
    ui.names.value ? "choosing" : "",
    !anyName && status.breakpoints.length === 0 ? "nameless" : "",
  ];
  return (
    <div class="source-view" data-testid="source" data-file={file.file} data-lines={code.length}>
      {stop && <Stopped run={run} ui={ui} stop={stop} />}
      <Toolbar run={run} ui={ui} status={status} file={file} files={files} />
      {!source && !frame && isKnown && <SourceNote run={run} answer={answer} />}
      {sites === 0 && !stop && <PrintsAlone />}
      <div class={`workspace ${states.filter(Boolean).join(" ")}`}>
        <Names run={run} ui={ui} look={look}>
          <Breakpoints run={run} status={status} />
        </Names>
        <div class="middle">
          {file.file === "" && <p class="empty">No source: nothing of your code called this.</p>}
          <CodeList
            key={source === null}
            run={run}
            ui={ui}
            file={file.file}
            rows={rows}
            values={all}
            look={look}
            newest={newest}
            over={values.over}
            prints={prints}
            names={names}
            now={frame?.line ?? null}
            assigned={set}
            stepping={stands && stop?.kind === "step" && frame !== null}
            isOpen={(line) => open.has(line)}
            open={(line) => setOpen(flipped(open, line))}
          />
          {stop && <Console run={run} ui={ui} stands={stands} />}
        </div>
        {(chosen || print || stop || together) && (
          <div class="side">
            {chosen && <Inspector key={chosen.site.id} run={run} ui={ui} value={chosen} look={look} dark={dark} />}
            {print && <PrintInspector key={print.id} run={run} ui={ui} site={print} dark={dark} />}
            {together && <Together run={run} ui={ui} dark={dark} />}
            {stop && <Expressions run={run} stands={stands} />}
            {stop && <Locals run={run} ui={ui} stop={stop} stands={stands} dark={dark} />}
          </div>
        )}
      </div>
    </div>
  );
}

function SourceNote({ run, answer }: { run: RunStore; answer: unknown }) {
  return (
    <p class="source-note muted" role="status">
      {typeof answer === "string"
        ? `The source cannot be read: ${answer} These are the lines that have values.`
        : run.gone
          ? "The kernel is gone, and with it the source. These are the lines that have values."
          : "Loading the source … These are the lines that have values."}
    </p>
  );
}

/** Says how to see more than prints. */
function PrintsAlone() {
  return (
    <p class="source-note muted">
      Nothing is watched. Begin the cell with <code class="mono">%%jaxdebug --watch-all</code> to see what each line
      computes.
    </p>
  );
}

/** Returns the inspected value, in any file. A gradient without a value is returned by itself. */
function useChosen(run: RunStore, ui: UiState, sites: number): Value | undefined {
  const site = ui.value.value === null ? undefined : run.sites.get(ui.value.value);
  return useMemo(() => {
    if (!site || !isWatched(site)) return undefined;
    const all = [...valuesOf(run, site.file).lines.values()].flat();
    return all.find((one) => one.site.id === site.id) ?? withoutGradient(site);
  }, [run, site, sites]);
}

function withoutGradient(site: WatchSite): Value {
  return { site, gradient: null, isPart: false, nth: "" };
}

/** Returns the newest event, updated slowly enough to be readable while the run goes on. */
function useNewest(run: RunStore): number {
  const kept = useRef({ event: 0, until: 0 });
  const [, again] = useState(0);
  const now = performance.now();
  if (now >= kept.current.until || run.status?.state !== "running" || run.debugger.stop) {
    kept.current = { event: run.next - 1, until: now + LIVE_MS };
  }
  const { event, until } = kept.current;
  // The last event must be drawn even if no further event causes a draw.
  const isBehind = event < run.next - 1;
  useEffect(() => {
    if (!isBehind) return;
    const later = setTimeout(() => again((n) => n + 1), until - performance.now());
    return () => clearTimeout(later);
  }, [isBehind, until]);
  return event;
}

function flipped(lines: ReadonlySet<number>, line: number): ReadonlySet<number> {
  const changed = new Set(lines);
  if (!changed.delete(line)) changed.add(line);
  return changed;
}
