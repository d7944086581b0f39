/** Above the source: which function, which step, and where a value was not finite first. */
import { count } from "../../kit/format";
import { Toggle } from "../../kit/Toggle";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { type BadValue, guilty, guiltyPlace, isWatched, type Look, type WatchTable } from "../../store/watched";
import type { StatusMessage } from "../../transport/wire";
import { StatisticChoice } from "../names/StatisticChoice";
import { watchedName } from "../sites/name";
import { functionAt, type WatchedFile } from "./files";
import { whenOf } from "./reading";
import type { Value } from "./rows";

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  file: WatchedFile;
  files: readonly WatchedFile[];
  values: readonly Value[];
  look: Look;
}

export function Toolbar({ run, ui, status, file, files, values, look }: Props) {
  run.watch();
  const names = run.watched.tables.size;
  if (names === 0 && status.breakpoints.length === 0 && files.length < 2) return null;
  return (
    <div class="toolbar">
      <span class="names-toggle">
        <Toggle of={ui.names} name="names-toggle" title="Show the names">
          {names > 0 ? `names ${count(names)}` : "breakpoints"}
        </Toggle>
      </span>
      <FunctionChoice ui={ui} file={file} files={files} />
      {names > 0 && <StatisticChoice ui={ui} />}
      <Steps run={run} ui={ui} values={values} look={look} />
      <span class="grow" />
      {(["nan", "inf"] as const).map((kind) => {
        const bad = run.watched.firstBad[kind];
        return bad && <FirstBad key={kind} run={run} ui={ui} kind={kind} bad={bad} />;
      })}
    </div>
  );
}

function FunctionChoice({ ui, file, files }: Pick<Props, "ui" | "file" | "files">) {
  return (
    <select
      aria-label="Function"
      data-testid="function-choice"
      value={`${files.indexOf(file)}/${functionAt(file, ui.place.value?.line ?? 0)}`}
      onChange={(event) => {
        const [at = 0, nth = 0] = event.currentTarget.value.split("/").map(Number);
        const chosen = files[at] as WatchedFile;
        ui.place.value = { file: chosen.file, line: chosen.functions[nth]?.line ?? 0, index: 0 };
      }}
    >
      {files.map(({ file: path, name, functions }, at) => (
        <optgroup key={path} label={name}>
          {functions.map((one, nth) => (
            <option key={one.name} value={`${at}/${nth}`}>
              {one.name} · {name}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

/** The value that was computed most often tells the steps; but not one lane after the other. */
export function clockOf(run: RunStore, values: readonly Value[]): WatchTable | undefined {
  const all = values.flatMap(({ site }) => run.watched.tables.get(site.id) ?? []);
  const alone = all.filter((table) => table.at(0, "lane") === -1);
  const tables = alone.length > 0 ? alone : all;
  return tables.reduce<WatchTable | undefined>(
    (most, one) => (most && most.total >= one.total ? most : one),
    undefined,
  );
}

/** To the step `by` further on; the newest is live. */
export function moveBy(run: RunStore, ui: UiState, values: readonly Value[], look: Look, by: number): void {
  const clock = clockOf(run, values);
  if (clock) moveTo(ui, clock, clock.rowAt(look) + by);
}

function moveTo(ui: UiState, clock: WatchTable, row: number): void {
  ui.moment.value = row >= clock.length - 1 ? null : clock.event(Math.max(0, row));
}

function Steps({ run, ui, values, look }: Pick<Props, "run" | "ui" | "values" | "look">) {
  run.watch();
  const clock = clockOf(run, values);
  if (!clock) return null;
  const row = clock.rowAt(look);
  const name = row < 0 ? "not yet" : whenOf(clock, row);
  const text = `${name} · ${count(row + 1)} of ${count(clock.length)}`;
  return (
    <label class="slider">
      <span class="unseen">Step</span>
      <input
        type="range"
        data-testid="step"
        min={0}
        max={Math.max(0, clock.length - 1)}
        value={Math.max(0, row)}
        aria-valuetext={text}
        onInput={(event) => moveTo(ui, clock, event.currentTarget.valueAsNumber)}
      />
      <span class="number" data-testid="when">
        {text}
      </span>
    </label>
  );
}

interface BadProps {
  run: RunStore;
  ui: UiState;
  kind: "nan" | "inf";
  bad: BadValue;
}

function FirstBad({ run, ui, kind, bad }: BadProps) {
  run.watch();
  const site = run.sites.of(bad.site, bad.type);
  if (!site || !isWatched(site)) return null;
  const go = () => {
    ui.moment.value = bad.event;
    ui.place.value = guiltyPlace(site);
    ui.value.value = site.id;
  };
  const by = guilty(site);
  const title = by ? `The derivative of ${by.text} at ${by.where} computes it` : site.where;
  return (
    <button type="button" class="toggle first-bad" data-testid={`first-${kind}`} title={title} onClick={go}>
      first {kind === "nan" ? "NaN" : "∞"}: <b class="mono">{watchedName(site)}</b> line {by?.line ?? site.line}
      {site.watch.choice && ", masked?"}
    </button>
  );
}
