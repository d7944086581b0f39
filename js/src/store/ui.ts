/** What one view of a run shows: never known to the kernel, nor to the other views of the run. See `run.ts`. */
import { type Signal, signal } from "@preact/signals";

export const TABS = ["overview", "streams", "source", "findings", "timeline", "calls", "program", "runs"] as const;
export type Tab = (typeof TABS)[number];

/** What charts are drawn against. */
export const AXES = ["step", "seconds", "call"] as const;
export type Axis = (typeof AXES)[number];

export interface Place {
  file: string;
  line: number;
  index: number;
}

export interface UiState {
  /** null until one is chosen. */
  tab: Signal<Tab | null>;
  filter: Signal<string>;
  find: Signal<string>;
  /** One stream by arrival instead of ordered beside unordered. */
  merged: Signal<boolean>;
  /** Events that only a `vmap` made fire are shown. */
  phantoms: Signal<boolean>;
  /** The sites are shown where there is no room for them beside the streams. */
  sites: Signal<boolean>;
  /** The only site whose events are shown. */
  site: Signal<number | null>;
  /** The only call whose events are shown. */
  onlyCall: Signal<number | null>;
  /** The call whose life is shown; null for the newest. */
  call: Signal<number | null>;
  /** The kind of the finding that is to be seen first among all, "" for any. */
  finding: Signal<string>;
  /** The call whose traced program is shown; null for the programs that the kernel has shown. */
  program: Signal<number | null>;
  /** The life of the call is shown also where nothing is pending, slow or wrong. */
  life: Signal<boolean>;
  /** The number of the event shown in full. */
  event: Signal<number | null>;
  /** The event where the selected stretch begins; it ends at `event`. */
  anchor: Signal<number | null>;
  /** The event up to which the run is looked at; null for the newest, live. */
  moment: Signal<number | null>;
  /** The plots with a logarithmic axis, `site/value`. */
  logarithmic: Signal<ReadonlySet<string>>;
  /** Of each view with charts: from 0, none, to nearly 1. */
  smoothing: Record<"overview" | "inspector", Signal<number>>;
  axis: Signal<Axis>;
  /** The part of the axis that all plots show; null: all of it. */
  zoom: Signal<readonly [from: number, to: number] | null>;
  /** Plots show earlier runs of the same program as well. */
  earlier: Signal<boolean>;
  /** The line of source that the arrow keys start from, and which of its values. */
  place: Signal<Place | null>;
  /** The watched value, or the print, that is shown in full beside the code. */
  value: Signal<number | null>;
  /** Which value of a print, `site/value`; the first where it is of another site. */
  part: Signal<string>;
  /** The names that are plotted together, by their keys (`names/leaf.ts`). */
  ticked: Signal<ReadonlySet<string>>;
  /** The statistic of watched values that is shown, and plotted. */
  statistic: Signal<string>;
  /** The names are shown where there is no room for them beside the code. */
  names: Signal<boolean>;
  /** The lane that is picked, `3` or `3, 0`; "" for none. */
  lane: Signal<string>;
  /** The branches of names and the sections that were folded, or opened where they are folded at first. */
  folded: Signal<ReadonlySet<string>>;
  /** The variable that is shown in full while the program is stopped. */
  local: Signal<string>;
  /** What stands in the debugger's console and has not been run. */
  draft: Signal<string>;
  /** The newest stop that the debugger was opened for. */
  stop: Signal<number>;
  /** The runs that are laid over each other, in the order in which they were chosen; null for this one alone. */
  compared: Signal<readonly string[] | null>;
  /** The stop that is over and is not shown any more. */
  closedStop: Signal<number>;
  /** The list of keys is open. */
  keys: Signal<boolean>;
  /** The notes that are not shown any more, and those shown in full. */
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

/** `keys` with `key` in it, or without it if it was. */
export function toggled<Key>(keys: ReadonlySet<Key>, key: Key): ReadonlySet<Key> {
  const changed = new Set(keys);
  if (!changed.delete(key)) changed.add(key);
  return changed;
}
