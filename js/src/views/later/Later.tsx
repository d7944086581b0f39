/** A view of a bundle that is loaded later. Until then, it shows the state of loading. */
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { type AllViews, type LaterViews, later, laterCalls, laterLines, laterProgram, laterRuns } from "./load";
import { useAsk } from "./program_ask";

const AFTER_FIRST_PICTURE_MS = 1000;

type Name = "Source" | "EventArrays" | "Findings" | "Hits" | "Runs" | "Program" | "Timeline" | "Calls";
type Props<View extends Name> = Parameters<AllViews[View]>[0] & { run: RunStore };

interface LaterProps<View extends Name> {
  name: View;
  /** The name of the view for the user. */
  words?: string;
  props: Props<View>;
  from?: LaterViews;
}

export const Source = (props: Props<"Source">) => <Later name="Source" words="Code" props={props} />;
export const Findings = (props: Props<"Findings">) => <Later name="Findings" props={props} />;
/** The hits in the overview. */
export const Hits = (props: Props<"Hits">) => <Later name="Hits" props={props} from={laterLines} />;
export const Runs = (props: Props<"Runs">) => <Later name="Runs" props={props} from={laterRuns} />;
export const Timeline = (props: Props<"Timeline">) => <Later name="Timeline" props={props} from={laterCalls} />;
export const Calls = (props: Props<"Calls">) => <Later name="Calls" props={props} from={laterCalls} />;
export function Program({ run, ui }: { run: RunStore; ui: UiState }) {
  run.watch();
  const newest = run.status?.captured ? [...run.calls.keys()].at(-1) : undefined;
  return <Later name="Program" props={{ run, ask: useAsk(run), call: ui.program, newest }} from={laterProgram} />;
}
/** The arrays of an opened event. */
export const EventArrays = (props: Props<"EventArrays">) => <Later name="EventArrays" words="Arrays" props={props} />;

/**
 * Loads the bundle of the timeline when the page has its first picture. These views need nothing but that bundle: they
 * show what a kernel did until it died.
 */
export function useCallsLoaded(run: RunStore, drawn: boolean): void {
  useEffect(() => {
    if (!drawn || run.gone) return;
    const timer = setTimeout(() => laterCalls.want(run), AFTER_FIRST_PICTURE_MS);
    return () => clearTimeout(timer);
  }, [run, run.gone, drawn]);
}

export function Later<View extends Name>({ name, words = name, props, from = later }: LaterProps<View>) {
  const { run } = props;
  run.watch();
  useEffect(() => {
    if (run.gone) from.lose(run);
    else from.want(run);
  }, [run, run.gone, from]);
  const View = from.views?.[name] as ComponentType<object> | undefined;
  if (View) return <View {...props} />;
  if (run.gone) return <NeedsKernel name={words} />;
  if (from.problem) return <Failed name={words} problem={from.problem} again={() => from.want(run)} />;
  return (
    <div class="empty" role="status" data-testid="view-loading">
      <strong>Loading the {words} view …</strong>
      {run.status?.commands && <small>The kernel answers clicks {run.status.commands}.</small>}
    </div>
  );
}

function NeedsKernel({ name }: { name: string }) {
  return (
    <div class="empty" role="status" data-testid="view-needs-kernel">
      <strong>The {name} view needs the kernel</strong>
      <span>It was not opened on this page while the kernel was there. Start the kernel and run the cell again.</span>
    </div>
  );
}

function Failed({ name, problem, again }: { name: string; problem: string; again: () => void }) {
  return (
    <div class="empty" role="alert" data-testid="view-failed">
      <strong>The {name} view could not be loaded</strong>
      <span>{problem}</span>
      <span>If it fails again, save the notebook and reload the page.</span>
      <button type="button" class="button" title="Load the view again" onClick={again}>
        Try again
      </button>
    </div>
  );
}

/** The style sheets of the bundles that are loaded. */
export function LaterStyle() {
  return (
    <style>
      {later.views?.css}
      {laterProgram.views?.css}
      {laterLines.views?.css}
      {laterRuns.views?.css}
      {laterCalls.views?.css}
    </style>
  );
}
