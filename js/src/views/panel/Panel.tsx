/** The panel of one run: header, stages of the call, tabs. It is drawn again at each change of the run. */
import type { Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { Arrival } from "../debugger/Arrival";
import { Header } from "../header/Header";
import { Processes } from "../header/Processes";
import { pressed } from "../keys/bindings";
import { Keys } from "../keys/Keys";
import { Calls, Findings, Program, Runs, Source, Timeline, useCallsLoaded } from "../later/Later";
import { Life } from "../life/Life";
import { Overview } from "../overview/Overview";
import { Scrubber } from "../scrubber/Scrubber";
import { Streams } from "../streams/Streams";
import { tabOf } from "./available";
import { useFocusKept } from "./focus";
import { useHeightKept } from "./height";
import { Notes } from "./Notes";
import { Tabs } from "./Tabs";

const BODIES = {
  overview: Overview,
  streams: Streams,
  source: Source,
  findings: Findings,
  timeline: Timeline,
  calls: Calls,
  program: Program,
  runs: Runs,
};
const CLOCK_MS = 250;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: Signal<boolean>;
}

export function Panel({ run, ui, dark }: Props) {
  run.watch();
  const root = useRef<HTMLElement>(null);
  useClock(run);
  useLatency(run, root);
  useOnScreen(run, root);
  useFocusKept(root, run.status !== undefined);
  useHeightKept(root, run.status !== undefined);
  useCallsLoaded(run, run.status !== undefined);
  const { status } = run;
  if (!status) return null;
  const tab = tabOf(ui);
  const Body = BODIES[tab];
  return (
    <section
      ref={root}
      tabIndex={-1} // A click focuses the panel, so that its shortcuts work and not those of the notebook.
      onKeyDown={(event) => {
        if (root.current && pressed({ run, ui, root: root.current }, event)) event.preventDefault();
      }}
      class={`panel${dark.value ? " dark" : ""}`}
      aria-label={`jax debug: ${status.title}`}
      data-testid="jaxdebug-panel"
      data-run={run.key}
      data-state={status.state}
      data-connected={!run.gone}
      data-events={run.next}
      data-ordered={run.ordered.received}
      data-unordered={run.unordered.received}
      data-dropped={status.dropped}
      data-barrier={status.barrier.state}
      data-batches={run.batches}
      data-calls={run.calls.size}
      data-sites={run.sites.size}
      data-stop={run.debugger.stop?.id ?? ""}
    >
      <Header run={run} ui={ui} status={status} />
      <Processes ui={ui} status={status} />
      <Life run={run} ui={ui} status={status} />
      <Notes run={run} ui={ui} notes={status.notes} />
      <Tabs run={run} ui={ui} />
      <div class="body" role="tabpanel" id="body" tabIndex={-1} aria-labelledby={`tab-${tab}`}>
        <Body run={run} ui={ui} status={status} dark={dark.value} />
      </div>
      <Arrival run={run} ui={ui} root={root} />
      <Keys ui={ui} />
      <Scrubber run={run} ui={ui} />
    </section>
  );
}

/** Tells the run whether the panel is on the screen. A hidden panel is drawn rarely. */
function useOnScreen(run: RunStore, root: { current: HTMLElement | null }): void {
  const isThere = run.status !== undefined;
  useEffect(() => {
    const view = root.current;
    if (!view) return;
    const observer = new IntersectionObserver((entries) => run.seen(view, entries.at(-1)?.isIntersecting));
    observer.observe(view);
    return () => {
      observer.disconnect();
      run.seen(view, undefined);
    };
  }, [run, isThere]);
}

/** Draws the panel again at intervals, so that durations advance without a batch. */
function useClock(run: RunStore): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (!run.gone && run.active) run.changed();
    }, CLOCK_MS);
    return () => clearInterval(timer);
  }, [run]);
}

/** Measures the time from the newest event, by the kernel's clock, until it was drawn. */
function useLatency(run: RunStore, root: { current: HTMLElement | null }): void {
  const [drawn] = useState({ next: -1 });
  useLayoutEffect(() => {
    if (!root.current || !run.status || run.next === drawn.next || run.log.length === 0) return;
    drawn.next = run.next;
    const fired = run.status.started + run.log.time(run.log.length - 1);
    root.current.dataset.latencyMs = (Date.now() - 1000 * fired).toFixed(1);
  });
}
