/** The function's source with, beside each line, what it computed at the moment that is looked at. */
import { useMemo, useRef, useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched, type WatchSite } from "../../store/watched";
import type { SourceName, StatusMessage } from "../../transport/wire";
import { Inspector } from "../inspector/Inspector";
import { Names } from "../names/Names";
import { CodeList } from "./CodeList";
import { filesOf, type WatchedFile } from "./files";
import { lookOf } from "./reading";
import { codeOf, rowsOf, type Value, valuesOf } from "./rows";
import { Toolbar } from "./Toolbar";

const LIVE_MS = 90;
const NONE: readonly SourceName[] = [];

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Source({ run, ui, status, dark }: Props) {
  run.watch();
  // Sites are only ever added.
  const sites = run.watched.tables.size;
  const files = useMemo(() => filesOf(run), [run, sites]);
  const file = files.find((one) => one.file === ui.place.value?.file) ?? files[0];
  if (!file) return <NothingWatched state={status.state} />;
  return <File key={file.file} run={run} ui={ui} file={file} files={files} dark={dark} />;
}

interface FileProps {
  run: RunStore;
  ui: UiState;
  file: WatchedFile;
  files: WatchedFile[];
  dark: boolean;
}

function File({ run, ui, file, files, dark }: FileProps) {
  run.watch();
  const answer = run.sources.get(file.file, !run.gone);
  const source = typeof answer === "object" ? answer : null;
  const sites = run.watched.tables.size;
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const values = useMemo(() => valuesOf(run, file.file), [run, file.file, sites]);
  const code = useMemo(() => codeOf(run, file.file, source), [run, file.file, source, source ? 0 : sites]);
  const names = source?.names ?? NONE;
  const rows = useMemo(() => rowsOf(code, values.lines, open, names), [code, values, open, names]);
  const all = useMemo(() => [...values.lines.values()].flat(), [values]);
  const newest = useNewest(run);
  const look = lookOf(run, ui, newest);
  const chosen = useChosen(run, ui, sites);
  return (
    <div class="source-view" data-testid="source" data-file={file.file} data-lines={code.length}>
      <Toolbar run={run} ui={ui} file={file} files={files} values={all} look={look} />
      {!source && (
        <p class="source-note muted" role="status">
          {typeof answer === "string"
            ? `The source cannot be read: ${answer} These are the lines that have values.`
            : run.gone
              ? "The kernel is gone, and with it the source. These are the lines that have values."
              : "Loading the source … These are the lines that have values."}
        </p>
      )}
      <div class={`workspace${chosen ? " inspecting" : ""}${ui.names.value ? " choosing" : ""}`}>
        <Names run={run} ui={ui} look={look} />
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
          names={names}
          isOpen={(line) => open.has(line)}
          open={(line) => setOpen(flipped(open, line))}
        />
        {chosen && <Inspector key={chosen.site.id} run={run} ui={ui} value={chosen} look={look} dark={dark} />}
      </div>
    </div>
  );
}

/** The value that is inspected, of whichever file it is; a gradient by itself. */
function useChosen(run: RunStore, ui: UiState, sites: number): Value | undefined {
  const site = ui.value.value === null ? undefined : run.sites.get(ui.value.value);
  return useMemo(() => {
    if (!site || !isWatched(site)) return undefined;
    const all = [...valuesOf(run, site.file).lines.values()].flat();
    return all.find((one) => one.site.id === site.id) ?? alone(site);
  }, [run, site, sites]);
}

function alone(site: WatchSite): Value {
  return { site, gradient: null, isPart: false, nth: "" };
}

/** The newest event, at a pace that eyes can follow while the run goes on. */
function useNewest(run: RunStore): number {
  const kept = useRef({ event: 0, until: 0 });
  const now = performance.now();
  if (now >= kept.current.until || run.status?.state !== "running") {
    kept.current = { event: run.next - 1, until: now + LIVE_MS };
  }
  return kept.current.event;
}

function flipped(lines: ReadonlySet<number>, line: number): ReadonlySet<number> {
  const changed = new Set(lines);
  if (!changed.delete(line)) changed.add(line);
  return changed;
}

function NothingWatched({ state }: { state: string }) {
  return (
    <div class="empty" data-testid="nothing-watched">
      <strong>
        {state === "running" ? "Nothing watched has been computed yet" : "Nothing is watched in this run"}
      </strong>
      <span>Beside each line of your code stands what it computed, with</span>
      <code>%%jaxdebug --watch-all</code>
      <code>%%jaxdebug --watch logits,h</code>
      <code>%%jaxdebug --watch model.py:40-60</code>
    </div>
  );
}
