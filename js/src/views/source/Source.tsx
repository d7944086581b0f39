/**
 * The Code view: beside each line of code the values that it computed at the shown moment. At a stop, it marks the
 * current line.
 */
import { useLayoutEffect, useMemo } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { FrameMessage } from "../../transport/stops";
import type { StatusMessage } from "../../transport/wire";
import { Breakpoints } from "../debugger/Breakpoints";
import { shownStop, standsAt } from "../debugger/Stopped";
import { printedLeaves } from "../names/leaf";
import { type CodeFile, filesOf } from "./files";
import { Nothing } from "./Nothing";
import { Workspace } from "./Workspace";

const NO_FILE: CodeFile = { file: "", name: "", functions: [] };

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Source({ run, ui, status, dark }: Props) {
  run.watch();
  const stop = shownStop(run, ui);
  const frame = stop?.frames[stop.frame] ?? null;
  const stands = standsAt(run);
  // Sites are added and never removed, so their number tells whether they have changed.
  const known = useMemo(() => filesOf(run), [run, run.sites.size]);
  useLayoutEffect(() => {
    if (frame && stands) ui.place.value = { file: frame.file, line: frame.line, index: 0 };
  }, [stop?.id, frame?.index, frame?.line, stands]);
  const files = frame && known.every(({ file }) => file !== frame.file) ? [fileOf(frame), ...known] : known;
  const file = files.find((one) => one.file === ui.place.value?.file) ?? files[0];
  if (!file && !stop && printedLeaves(run).length === 0) {
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by the keyboard
      <section class="source-view nothing-here" tabIndex={0} aria-label="How to see values, and stop">
        <Nothing status={status} />
        <Breakpoints run={run} status={status} />
      </section>
    );
  }
  const shown = file ?? NO_FILE;
  const all = { run, ui, status, dark, files, stop, frame };
  return <Workspace key={shown.file} {...all} file={shown} isKnown={known.includes(shown)} />;
}

function fileOf({ file, where, function: name, line }: FrameMessage): CodeFile {
  return { file, name: where.replace(/:\d+$/, ""), functions: [{ name, line }] };
}
