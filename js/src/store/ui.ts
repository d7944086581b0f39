/** What one view of a run shows: never known to the kernel, nor to the other views of the run. See `run.ts`. */
import { type Signal, signal } from "@preact/signals";

export type Tab = "streams" | "plots" | "calls";

export interface UiState {
  tab: Signal<Tab>;
  filter: Signal<string>;
  /** The only site whose events are shown. */
  site: Signal<number | null>;
  /** The call whose life is shown; null for the newest. */
  call: Signal<number | null>;
  /** The number of the event shown in full. */
  event: Signal<number | null>;
  /** The plots with a logarithmic axis, `site/value`. */
  logarithmic: Signal<ReadonlySet<string>>;
}

export function createUi(): UiState {
  return {
    tab: signal<Tab>("streams"),
    filter: signal(""),
    site: signal<number | null>(null),
    call: signal<number | null>(null),
    event: signal<number | null>(null),
    logarithmic: signal<ReadonlySet<string>>(new Set()),
  };
}
