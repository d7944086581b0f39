/** The toolbar above the code: the function, the statistic, and the first value that was not finite. */
import { count } from "../../kit/format";
import { Toggle } from "../../kit/Toggle";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { derivativeOf, firstPlace, isWatched, laneName, laneWords } from "../../store/watched";
import type { FirstNonFiniteMessage, StatusMessage } from "../../transport/wire";
import { printedLeaves } from "../names/leaf";
import { StatisticChoice } from "../names/StatisticChoice";
import { watchedName } from "../sites/name";
import { type CodeFile, functionAt } from "./files";

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  file: CodeFile;
  files: readonly CodeFile[];
}

export function Toolbar({ run, ui, status, file, files }: Props) {
  run.watch();
  const watched = run.watched.tables.size;
  const names = watched + printedLeaves(run).length;
  if (names === 0 && status.breakpoints.length === 0 && files.length < 2) return null;
  return (
    <div class="toolbar">
      <span class="names-toggle">
        <Toggle of={ui.names} name="names-toggle" title="Show the names">
          {names > 0 ? `names ${count(names)}` : "breakpoints"}
        </Toggle>
      </span>
      <FunctionChoice ui={ui} file={file} files={files} />
      {watched > 0 && <StatisticChoice run={run} ui={ui} />}
      <span class="grow" />
      {status.first_nonfinite && <FirstBad run={run} ui={ui} first={status.first_nonfinite} />}
    </div>
  );
}

function FunctionChoice({ ui, file, files }: Pick<Props, "ui" | "file" | "files">) {
  return (
    <select
      aria-label="Function"
      title="Go to a function"
      data-testid="function-choice"
      value={`${files.indexOf(file)}/${functionAt(file, ui.place.value?.line ?? 0)}`}
      onChange={(event) => {
        const [at = 0, nth = 0] = event.currentTarget.value.split("/").map(Number);
        const chosen = files[at] as CodeFile;
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

interface BadProps {
  run: RunStore;
  ui: UiState;
  first: FirstNonFiniteMessage;
}

function FirstBad({ run, ui, first }: BadProps) {
  run.watch();
  const position = run.log.find(first.event);
  const site = run.sites.of(first.site, position < 0 ? 0 : run.log.type(position));
  if (!site || !isWatched(site)) return null;
  const place = firstPlace(first, site);
  const go = () => {
    if (position >= 0) ui.moment.value = first.event;
    ui.place.value = place;
    ui.value.value = site.id;
    ui.lane.value = laneName(first.lane);
  };
  const by = derivativeOf(site);
  const title =
    by?.line === place.line ? `The derivative of ${by.text} at ${by.where} computes it` : first.where || site.where;
  return (
    <button
      type="button"
      class="toggle first-bad"
      data-testid={`first-${first.nan ? "nan" : "inf"}`}
      title={title}
      onClick={go}
    >
      first {first.nan ? "NaN" : "∞"}: <b class="mono">{watchedName(site)}</b> line {place.line}
      {(first.lane?.length ?? 0) > 0 && `, ${laneWords(first.lane)}`}
      {first.masked && ", masked?"}
    </button>
  );
}
