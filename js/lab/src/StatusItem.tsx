/** The status-bar item: the effects barrier of the newest run, or that the run is paused. */
import type { ReadonlySignal } from "@preact/signals";
import { stateWords } from "../../src/kit/states";
import type { Followed } from "./follow";
import type { Settings } from "./settings";
import { statusWords, tone } from "./words";

interface Props {
  followed: ReadonlySignal<Followed | undefined>;
  settings: ReadonlySignal<Readonly<Settings>>;
  /** Opens the list of runs. */
  onOpen(): void;
}

export function StatusItem({ followed, settings, onOpen }: Props) {
  const link = followed.value?.link;
  const run = link?.runs.newest.value;
  if (!link || !run || !settings.value.statusBar) return null;
  const words = link.lost.value ? "kernel gone" : statusWords(run);
  return (
    <button
      type="button"
      class="jaxdebug-Status"
      data-state={run.state}
      data-barrier={run.barrier}
      title={`${run.title}: ${stateWords(run.state)}. Click for the list of runs.`}
      onClick={onOpen}
    >
      <span class="jaxdebug-Dot" data-tone={tone(run)} aria-hidden="true" />
      JAX: {words}
    </button>
  );
}
