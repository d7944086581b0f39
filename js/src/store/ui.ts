/**
 * The state of one view of a run. Neither the kernel nor other views of the run know it. See `run.ts` for the run
 * itself.
 */
import { type Signal, signal } from "@preact/signals";

export const TABS = ["overview", "streams", "source", "findings", "timeline", "calls", "program", "runs"] as const;
export type Tab = (typeof TABS)[number];

/** The quantities that the x axis of a chart can show. */
export const AXES = ["step", "seconds", "call"] as const;
export type Axis = (typeof AXES)[number];

export interface Place {
  file: string;
  line: number;
  index: number;
}

export interface UiState {
  /** The selected tab; null until the user chooses one. */
  tab: Signal<Tab | null>;
  filter: Signal<string>;
  find: Signal<string>;
  /** Whether the streams are shown as one, in order of arrival. */
  merged: Signal<boolean>;
  /** Whether phantoms are shown: events that fired only because of a `vmap`. */
  phantoms: Signal<boolean>;
  /** Whether the list of sites is open where there is no room beside the streams. */
  sites: Signal<boolean>;
  /** The only site to show; null for all. */
  site: Signal<number | null>;
  /** The only call to show; null for all. */
  onlyCall: Signal<number | null>;
  /** The call whose stages are shown; null for the newest. */
  call: Signal<number | null>;
  /** The kind of finding to scroll to; "" for none. */
  finding: Signal<string>;
  /** The call whose traced program is shown; null for the programs that the kernel sent. */
  program: Signal<number | null>;
  /** Whether the stages of the call are shown even if nothing is pending, slow or wrong. */
  life: Signal<boolean>;
  /** The number of the event shown in full; null for none. */
  event: Signal<number | null>;
  /** The number of the event at which the selected range begins; it ends at `event`. Null if there is no range. */
  anchor: Signal<number | null>;
  /** The number of the last event to show; null for the newest, which follows the run. */
  moment: Signal<number | null>;
  /** The keys `site/value` of the plots with a logarithmic axis. */
  logarithmic: Signal<ReadonlySet<string>>;
  /** The smoothing of the charts in each view, from 0 (none) to nearly 1. */
  smoothing: Record<"overview" | "inspector", Signal<number>>;
  axis: Signal<Axis>;
  /** The part of the x axis that all plots show; null for all of it. */
  zoom: Signal<readonly [from: number, to: number] | null>;
  /** Whether plots also show earlier runs of the same program. */
  earlier: Signal<boolean>;
  /** The selected line of source, and the index of the selected value in it. */
  place: Signal<Place | null>;
  /** The site of the watched value or print that is shown beside the code; null for none. */
  value: Signal<number | null>;
  /** The key `site/value` of the selected value of a print. If it is of another site, the first value is selected. */
  part: Signal<string>;
  /** The keys of the names that are plotted together (`names/leaf.ts`). */
  ticked: Signal<ReadonlySet<string>>;
  /** The statistic of watched values that is shown and plotted. */
  statistic: Signal<string>;
  /** Whether the list of names is open where there is no room beside the code. */
  names: Signal<boolean>;
  /** The selected lane, `3` or `3, 0`; "" for none. */
  lane: Signal<string>;
  /** The keys of the names and sections that were toggled: folded, or opened if they are folded by default. */
  folded: Signal<ReadonlySet<string>>;
  /** The variable that is shown in full while the program is stopped; "" for none. */
  local: Signal<string>;
  /** The text in the debugger's console that has not been run. */
  draft: Signal<string>;
  /** The id of the newest stop that opened the debugger; -1 for none. */
  stop: Signal<number>;
  /** The keys of the runs to compare, in the order in which they were chosen; null for none. */
  compared: Signal<readonly string[] | null>;
  /** The id of the ended stop that the user has closed; -1 for none. */
  closedStop: Signal<number>;
  /** Whether the list of keyboard shortcuts is open. */
  keys: Signal<boolean>;
  /** The notes that the user has closed, and those that are shown in full. */
  dismissed: Signal<ReadonlySet<string>>;
  openNotes: Signal<ReadonlySet<string>>;
}

export function createUi(): UiState {
  return {
    tab: signal<Tab | null>(null),
    filter: signal(""),
    find: signal(""),
    merged: signal(false),
    phantoms: signal(true),
    sites: signal(false),
    site: signal<number | null>(null),
    onlyCall: signal<number | null>(null),
    call: signal<number | null>(null),
    finding: signal(""),
    program: signal<number | null>(null),
    life: signal(false),
    event: signal<number | null>(null),
    anchor: signal<number | null>(null),
    moment: signal<number | null>(null),
    logarithmic: signal<ReadonlySet<string>>(new Set()),
    smoothing: { overview: signal(0), inspector: signal(0) },
    axis: signal<Axis>("step"),
    zoom: signal(null),
    earlier: signal(false),
    place: signal<Place | null>(null),
    value: signal<number | null>(null),
    part: signal(""),
    ticked: signal<ReadonlySet<string>>(new Set()),
    statistic: signal("mean"),
    names: signal(false),
    lane: signal(""),
    folded: signal<ReadonlySet<string>>(new Set()),
    local: signal(""),
    draft: signal(""),
    stop: signal(-1),
    compared: signal<readonly string[] | null>(null),
    closedStop: signal(-1),
    keys: signal(false),
    dismissed: signal<ReadonlySet<string>>(new Set()),
    openNotes: signal<ReadonlySet<string>>(new Set()),
  };
}

/** Returns a copy of `keys` without `key`, or with it if it was missing. */
export function toggled<Key>(keys: ReadonlySet<Key>, key: Key): ReadonlySet<Key> {
  const changed = new Set(keys);
  if (!changed.delete(key)) changed.add(key);
  return changed;
}
