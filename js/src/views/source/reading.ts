/** What a watched value was at the shown moment, in words and numbers. */
import { brief, value as exact } from "../../kit/format";
import { type AtStop, atStop, earlier, endedAt } from "../../store/atStop";
import { clockOf, whenOf } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { Look, WatchSite, WatchTable } from "../../store/watched";
import type { LocalMessage } from "../../transport/stops";
import { localOf, statisticOfLocal } from "../debugger/frameValues";
import { standsAt } from "../debugger/Stopped";
import { labelOf } from "../names/statistic";
import { watchedName } from "../sites/name";
import { isMasked } from "./badOfCall";
import type { Value } from "./rows";

export interface Seen {
  table: WatchTable;
  row: number;
  /** The site as it was compiled for the row. */
  site: WatchSite;
  /** `row` and the rows of the other lanes and devices of the same execution. */
  rows: number[];
  /** The call and step as text: `call 3 · step 12`. */
  when: string;
  /** If the row is of an earlier call, or at a stop of an earlier step: which; "" otherwise. */
  earlier: string;
  /** At a stop whose step has no row yet: the variable of the frame that has the value. Otherwise null. */
  local: LocalMessage | null;
  /** Returns the expression that may leave out the NaN or infinity; "" if there is none, or if all is finite. */
  mask(): string;
  /** Returns a statistic; undefined if it is not known. */
  lookup(statistic: string): number | undefined;
  /** Returns a statistic; NaN if it is not known. */
  get(statistic: string): number;
}

export interface SeenValue extends Seen {
  gradient: Seen | null;
}

/**
 * What the view shows: a moment; or, if the view is live and the program is stopped or was ended at a stop, that stop.
 */
export interface LookAtStop extends Look {
  stop?: AtStop | null;
  /** The call of the shown step, if the step is in a loop. */
  inLoopOf?: number;
}

/** Returns what the view shows. If the view is live, that is the event `newest`. */
export function lookOf(run: RunStore, ui: UiState, newest: number): LookAtStop {
  const [moment, call] = [ui.moment.value, ui.onlyCall.value];
  const standing = standsAt(run) ? run.debugger.stop : endedAt(run, ui);
  const stop = moment === null && call === null ? atStop(run, standing) : null;
  const look = { moment: run.log.endOf(moment ?? newest), call, stop };
  const clock = stop ? undefined : clockOf(run);
  const row = clock?.rowAt(look) ?? -1;
  const [during, after] = [row, row + 1].map((at) => clock?.at(at, "call"));
  if (during === undefined || (clock?.at(row, "step") ?? -1) < 0) return look;
  const inLoop = { ...look, inLoopOf: during };
  const loop = clock?.siteAt(row)?.watch?.position ?? [];
  return moment === null ? inLoop : { ...inLoop, during, loop, isLast: after !== during };
}

/** Returns the value of one site; null if it was not computed by then. */
export function seenOf(run: RunStore, { id }: WatchSite, look: LookAtStop): Seen | null {
  const table = run.watched.tables.get(id);
  const found = table ? seenAt(run, table, table.rowAt(look), look) : null;
  const local = look.stop && found?.earlier ? localOf(run, found.site, look.stop.stop) : null;
  return local && found && look.stop ? { ...found, rows: [found.row], ...fromLocal(local, look.stop) } : found;
}

/** Returns a value with its gradient; null if it was not computed by then. */
export function seen(run: RunStore, { site, gradient }: Value, look: LookAtStop): SeenValue | null {
  const found = seenOf(run, site, look);
  if (!found) return null;
  const beside = gradient && gradient !== site && run.watched.tables.get(gradient.id);
  const other = beside ? seenAt(run, beside, beside.rowBeside(found.table, found.row, look), look) : null;
  // A gradient of an earlier step is left out, because it would look like the gradient of this value.
  return { ...found, gradient: other?.earlier === found.earlier ? other : null };
}

/** Returns the value of a site one iteration earlier; null if there is none or it is not known. */
export function seenBefore(run: RunStore, { id }: WatchSite, { table, row }: Seen): Seen | null {
  const other = run.watched.tables.get(id);
  return other ? seenAt(run, other, other.rowBefore(table, row)) : null;
}

function seenAt(run: RunStore, table: WatchTable, row: number, look: Partial<LookAtStop> = {}): Seen | null {
  if (row < 0) return null;
  const rows = table.together(row);
  const site = table.siteAt(row) as WatchSite;
  const lookup = (statistic: string) => table.combined(rows, statistic);
  const about = { when: whenOf(table, row), earlier: earlierThan(run, look, table, row), local: null };
  const mask = () => (table.isBad(row) && isMasked(run, site, table.event(row)) ? site.watch.choice : "");
  return { table, row, site, rows, ...about, mask, lookup, get: (statistic) => lookup(statistic) ?? Number.NaN };
}

/** Returns `call 3` if a row is of an earlier call. While a loop runs, values outside the loop come only after it. */
function earlierThan(run: RunStore, { stop, inLoopOf }: Partial<LookAtStop>, table: WatchTable, row: number): string {
  if (stop) return earlier(table, row, stop);
  const call = table.at(row, "call") as number;
  const [before, now] = [call, inLoopOf ?? -1].map((id) => run.calls.get(id));
  return before && now && call < now.id && before.name === now.name ? `call ${call}` : "";
}

function fromLocal(local: LocalMessage, { when, stop: { lanes } }: AtStop) {
  const lookup = (statistic: string) => statisticOfLocal(local, statistic);
  const lane = lanes.sizes.length > 0 ? `, lane ${lanes.chosen.join(", ")}` : "";
  return {
    local,
    lookup,
    get: (name: string) => lookup(name) ?? Number.NaN,
    earlier: "",
    when: `at the stop${lane}: ${when}`,
  };
}

/** Returns the norm of an array, or the absolute value of a number. */
export function norm({ table, get }: Seen): number {
  return table.isScalar ? Math.abs(get("value")) : get("l2");
}

/**
 * Returns how far the typical size of the elements is from 1, for the stripe beside the line: from -1 (vanishing, at
 * most 10^-6) through 0 to 1 (exploding, at least 10^6). Works for gradients as well.
 */
export function heatOf(found: Seen): number {
  const magnitude = norm(found) / Math.sqrt(found.table.sizeAt(found.row) * found.rows.length);
  if (magnitude === Number.POSITIVE_INFINITY || Number.isNaN(magnitude)) return 1;
  return magnitude === 0 ? 0 : Math.max(-1, Math.min(1, Math.log10(magnitude) / 6));
}

/** The statistics that are left out if they are 0. */
const COUNTS = new Set(["zeros", "nan", "posinf", "neginf"]);
const BAD = { nan: "nan", posinf: "inf", neginf: "-inf" };

/** Counts what was not finite, without intended infinities: `3 nan · 1 inf`. */
export function badOf({ table, row, get, local }: Seen): string {
  if (local && !table.isScalar) {
    const { nan = 0, inf = 0 } = local.stats ?? {};
    return [nan > 0 && `${nan} nan`, inf > 0 && `${inf} infinite`].filter(Boolean).join(" · ");
  }
  if (table.isScalar) return table.isUnintended(row, get("value")) ? exact(get("value")) : "";
  const found = Object.entries(BAD).filter(([name]) => get(name) > 0 && !table.intendedAt(row).includes(name));
  return found.map(([name, word]) => `${get(name)} ${word}`).join(" · ");
}

/** Returns the gradient's norm and its ratio to the value's norm; "" for each that is not known. */
export function gradientOf(found: SeenValue): { size: string; ratio: string } {
  const size = found.gradient ? norm(found.gradient) : Number.NaN;
  const ratio = size / norm(found);
  const bad = found.gradient ? badOf(found.gradient) : "";
  return {
    size: found.gradient ? bad || brief(size) : "",
    ratio: Number.isFinite(ratio) && !bad ? `×${brief(Number(ratio.toPrecision(2)))}` : "",
  };
}

/** Returns the type in the notation of a jaxpr: `f32[64,128]`. */
export function typeOf({ watch }: WatchSite): string {
  return `${watch.dtype.replace(/^(bf|f|u|i|c)[a-z]+(?=\d)/, "$1")}[${watch.shape.join()}]`;
}

/** Returns what to know about a value besides its numbers. */
export function notesOf(found: SeenValue): string[] {
  const mask = found.mask() || found.gradient?.mask();
  const ended = found.site.watch.has_ended_lanes && "lanes that have already left the while_loop are included";
  return [mask && `${mask} may mask it`, ended].filter((note) => typeof note === "string" && note !== "") as string[];
}

/** Returns all that is known of a value, in a few lines. */
export function factsOf({ site: newest, nth }: Value, found: SeenValue | null): string[] {
  const site = found?.site ?? newest;
  const { scope, primitive } = site.watch;
  const place = [nth, scope && `in ${scope}`, primitive].filter(Boolean).join(" · ");
  const head = `${watchedName(site)} ${typeOf(site)} · ${place}`;
  if (!found) return [head, "not computed yet"];
  const { table, rows, get, lookup } = found;
  const lanes = rows.length > 1 ? ` · ${rows.length} lanes` : "";
  const known = table.statistics.filter((name) => (get(name) !== 0 || !COUNTS.has(name)) && lookup(name) !== undefined);
  const numbers = known.map((name) => `${labelOf(found, name)} ${exact(get(name))}`);
  const { size, ratio } = gradientOf(found);
  const missing = found.earlier && " (this step's has not come yet)";
  const lines = [head, found.when + missing + lanes, numbers.join(" · "), ...notesOf(found)];
  return size ? [...lines, `‖gradient‖ ${size}${ratio && ` · ${ratio} of the value's`}`] : lines;
}
