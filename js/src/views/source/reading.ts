/** What a watched value was at the moment that is looked at, in words and numbers. */
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
  /** As it was compiled for that row. */
  site: WatchSite;
  /** Those of all its lanes and devices. */
  rows: number[];
  /** `call 3 · step 12`. */
  when: string;
  /** The earlier call, or at a stop the earlier step, that it is of; "" where it is of the one that is looked at. */
  earlier: string;
  /** At a stop whose step has no row yet: the variable of the frame, which has its value. */
  local: LocalMessage | null;
  /** Not finite, the expression that may leave it out; "" where it may not, or all is finite. */
  mask(): string;
  /** undefined where nobody knows it. */
  told(statistic: string): number | undefined;
  /** NaN where there is no such statistic. */
  get(statistic: string): number;
}

export interface SeenValue extends Seen {
  gradient: Seen | null;
}

/** What is looked at: a moment, and where that is live and the program stands or was ended at a stop, the stop. */
export interface LookAtStop extends Look {
  stop?: AtStop | null;
  /** The call whose loop is looked at. */
  inLoopOf?: number;
}

/** Where the panel is live that is `newest`. */
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

/** Of one site; null where it had not been computed. */
export function seenOf(run: RunStore, { id }: WatchSite, look: LookAtStop): Seen | null {
  const table = run.watched.tables.get(id);
  const found = table ? seenAt(run, table, table.rowAt(look), look) : null;
  const local = look.stop && found?.earlier ? localOf(run, found.site, look.stop.stop) : null;
  return local && found && look.stop ? { ...found, rows: [found.row], ...asTold(local, look.stop) } : found;
}

/** null where it had not been computed. */
export function seen(run: RunStore, { site, gradient }: Value, look: LookAtStop): SeenValue | null {
  const found = seenOf(run, site, look);
  if (!found) return null;
  const beside = gradient && gradient !== site && run.watched.tables.get(gradient.id);
  const other = beside ? seenAt(run, beside, beside.rowBeside(found.table, found.row, look), look) : null;
  // Of an earlier step than the value it would be taken for that of the value.
  return { ...found, gradient: other?.earlier === found.earlier ? other : null };
}

/** What a site's value was an iteration before that of `of`; null where there was none, or nobody knows it. */
export function seenBefore(run: RunStore, { id }: WatchSite, { table, row }: Seen): Seen | null {
  const other = run.watched.tables.get(id);
  return other ? seenAt(run, other, other.rowBefore(table, row)) : null;
}

function seenAt(run: RunStore, table: WatchTable, row: number, look: Partial<LookAtStop> = {}): Seen | null {
  if (row < 0) return null;
  const rows = table.together(row);
  const site = table.siteAt(row) as WatchSite;
  const told = (statistic: string) => table.combined(rows, statistic);
  const about = { when: whenOf(table, row), earlier: earlierThan(run, look, table, row), local: null };
  const mask = () => (table.isBad(row) && isMasked(run, site, table.event(row)) ? site.watch.choice : "");
  return { table, row, site, rows, ...about, mask, told, get: (statistic) => told(statistic) ?? Number.NaN };
}

/** While a loop runs, what is outside of it is still that of the call before: it comes when the loop is over. */
function earlierThan(run: RunStore, { stop, inLoopOf }: Partial<LookAtStop>, table: WatchTable, row: number): string {
  if (stop) return earlier(table, row, stop);
  const call = table.at(row, "call") as number;
  const [before, now] = [call, inLoopOf ?? -1].map((id) => run.calls.get(id));
  return before && now && call < now.id && before.name === now.name ? `call ${call}` : "";
}

function asTold(local: LocalMessage, { when, stop: { lanes } }: AtStop) {
  const told = (statistic: string) => statisticOfLocal(local, statistic);
  const lane = lanes.sizes.length > 0 ? `, lane ${lanes.chosen.join(", ")}` : "";
  return {
    local,
    told,
    get: (name: string) => told(name) ?? Number.NaN,
    earlier: "",
    when: `at the stop${lane}: ${when}`,
  };
}

/** The norm; of a number its size. */
export function norm({ table, get }: Seen): number {
  return table.isScalar ? Math.abs(get("value")) : get("l2");
}

/**
 * How far the size of the elements is from 1, as a stripe beside the line: -1 vanishing (10^-6 and less), 0, 1 exploding (10^6
 * and more); of gradients as well.
 */
export function heatOf(found: Seen): number {
  const magnitude = norm(found) / Math.sqrt(found.table.sizeAt(found.row) * found.rows.length);
  if (magnitude === Number.POSITIVE_INFINITY || Number.isNaN(magnitude)) return 1;
  return magnitude === 0 ? 0 : Math.max(-1, Math.min(1, Math.log10(magnitude) / 6));
}

/** Which are left out where they are 0. */
const COUNTS = new Set(["zeros", "nan", "posinf", "neginf"]);
const BAD = { nan: "nan", posinf: "inf", neginf: "-inf" };

/** What was not finite and is not meant, in words: `3 nan · 1 inf`. */
export function badOf({ table, row, get, local }: Seen): string {
  if (local && !table.isScalar) {
    const { nan = 0, inf = 0 } = local.stats ?? {};
    return [nan > 0 && `${nan} nan`, inf > 0 && `${inf} infinite`].filter(Boolean).join(" · ");
  }
  if (table.isScalar) return table.isOdd(row, get("value")) ? exact(get("value")) : "";
  const found = Object.entries(BAD).filter(([name]) => get(name) > 0 && !table.meantAt(row).includes(name));
  return found.map(([name, word]) => `${get(name)} ${word}`).join(" · ");
}

/** The gradient's norm and how many times the value's norm that is, each "" where there is none. */
export function gradientOf(found: SeenValue): { size: string; ratio: string } {
  const size = found.gradient ? norm(found.gradient) : Number.NaN;
  const ratio = size / norm(found);
  const bad = found.gradient ? badOf(found.gradient) : "";
  return {
    size: found.gradient ? bad || brief(size) : "",
    ratio: Number.isFinite(ratio) && !bad ? `×${brief(Number(ratio.toPrecision(2)))}` : "",
  };
}

/** As a jaxpr writes it: `f32[64,128]`. */
export function typeOf({ watch }: WatchSite): string {
  return `${watch.dtype.replace(/^(bf|f|u|i|c)[a-z]+(?=\d)/, "$1")}[${watch.shape.join()}]`;
}

/** What has to be known of it beside its numbers. */
export function notesOf(found: SeenValue): string[] {
  const mask = found.mask() || found.gradient?.mask();
  const ended = found.site.watch.has_ended_lanes && "lanes that have already left the while_loop are included";
  return [mask && `${mask} may mask it`, ended].filter((note) => typeof note === "string" && note !== "") as string[];
}

/** All that is known of it, in few lines. */
export function factsOf({ site: newest, nth }: Value, found: SeenValue | null): string[] {
  const site = found?.site ?? newest;
  const { scope, primitive } = site.watch;
  const place = [nth, scope && `in ${scope}`, primitive].filter(Boolean).join(" · ");
  const head = `${watchedName(site)} ${typeOf(site)} · ${place}`;
  if (!found) return [head, "not computed yet"];
  const { table, rows, get, told } = found;
  const lanes = rows.length > 1 ? ` · ${rows.length} lanes` : "";
  const known = table.statistics.filter((name) => (get(name) !== 0 || !COUNTS.has(name)) && told(name) !== undefined);
  const numbers = known.map((name) => `${labelOf(found, name)} ${exact(get(name))}`);
  const { size, ratio } = gradientOf(found);
  const left = found.earlier && " (this step's has not come yet)";
  const lines = [head, found.when + left + lanes, numbers.join(" · "), ...notesOf(found)];
  return size ? [...lines, `‖gradient‖ ${size}${ratio && ` · ${ratio} of the value's`}`] : lines;
}
