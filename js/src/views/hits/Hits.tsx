/** The steps at which the condition of `--when` held, with links to them. */
import { useState } from "preact/hooks";
import { brief, count } from "../../kit/format";
import { watchedSteps, whenOf } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched, SCALAR, type WatchSite, type WatchTable } from "../../store/watched";
import { watchedName } from "../sites/name";

/** The number of hits that are shown at first. */
const SOME = 200;
/** The number of names in the condition whose values are shown beside a hit. */
const MOST_NAMES = 3;

interface Props {
  run: RunStore;
  ui: UiState;
  /** A number that changes when the list must be drawn again. */
  at: number;
}

export function Hits({ run, ui }: Props) {
  const [most, setMost] = useState(SOME);
  const condition = run.status?.when ?? "";
  const sites = sitesOf(run, condition);
  const table = tableOf(run, sites);
  const total = table?.length ?? 0;
  const shown = Math.min(most, total);
  return (
    <section class="latest hits" data-testid="hits" aria-label="Hits">
      <header>
        <b>Hits</b>
        <code class="mono muted hits-condition" title={condition}>
          {condition}
        </code>
        <span class="grow" />
        <span class="muted number">{count(table?.total ?? 0)}</span>
      </header>
      {table && total > 0 ? (
        <div class="hits-rows">
          {Array.from({ length: shown }, (_, i) => (
            <Hit key={table.event(i)} run={run} ui={ui} sites={sites} table={table} row={i} />
          ))}
          {total > shown && (
            <button
              type="button"
              class="latest-row link"
              title="Show more hits"
              onClick={() => setMost(most + 5 * SOME)}
            >
              {count(total - shown)} more
            </button>
          )}
        </div>
      ) : (
        <p class="muted hits-none">
          {run.active ? "The condition has not been true yet." : "The condition was never true."}
        </p>
      )}
    </section>
  );
}

function Hit({
  run,
  ui,
  sites,
  table,
  row,
}: Pick<Props, "run" | "ui"> & { sites: WatchSite[]; table: WatchTable; row: number }) {
  const event = run.log.endOf(table.event(row));
  const [first] = sites;
  const go = () => {
    ui.moment.value = event >= run.next - 1 ? null : event;
    if (first) {
      ui.place.value = { file: first.file, line: first.line, index: 0 };
      ui.value.value = first.id;
    }
    ui.tab.value = "source";
  };
  const numbers = sites.slice(0, MOST_NAMES).map((site) => inWords(run, site, table, row));
  return (
    <button type="button" class="latest-row" title="Show this step in Code" onClick={go}>
      <span class="hits-when mono number">{whenOf(table, row)}</span>
      <span class="latest-text mono number">{numbers.filter(Boolean).join(" · ")}</span>
    </button>
  );
}

/**
 * Returns the sites that the condition names, the most relevant first. If none of them is watched, returns other
 * watched sites.
 */
function sitesOf(run: RunStore, condition: string): WatchSite[] {
  const words = new Set(condition.match(/[\p{L}_][\p{L}\p{N}_]*/gu));
  const last = ({ watch: { name } }: WatchSite) => name.match(/[\p{L}_][\p{L}\p{N}_]*/u)?.[0] ?? "";
  const named = [...run.sites.values()].filter(isWatched).filter((site) => words.has(last(site)));
  const isGradient = (site: WatchSite) => Number(site.watch.role === "gradient");
  const wantsGradient = words.has("grad") ? 1 : 0;
  const recorded = named
    .filter((site) => (run.watched.tables.get(site.id)?.length ?? 0) > 0)
    .sort(
      (a, b) => Math.abs(isGradient(a) - wantsGradient) - Math.abs(isGradient(b) - wantsGradient) || a.order - b.order,
    );
  if (recorded.length > 0) return recorded;
  const clock = watchedSteps(run);
  return [...run.sites.values()].filter(isWatched).filter(({ id }) => run.watched.tables.get(id) === clock);
}

/**
 * Returns a table with a row for each hit: the longest table of a name in the condition, otherwise the longest of all.
 */
function tableOf(run: RunStore, sites: readonly WatchSite[]): WatchTable | undefined {
  const named = sites.flatMap(({ id }) => run.watched.tables.get(id) ?? []);
  const longest = named.reduce<WatchTable | undefined>(
    (best, next) => (best && best.total >= next.total ? best : next),
    undefined,
  );
  return longest ?? watchedSteps(run);
}

function inWords(run: RunStore, site: WatchSite, hits: WatchTable, row: number): string {
  const table = run.watched.tables.get(site.id);
  if (!table) return "";
  const own = table === hits ? row : table.rowBeside(hits, row, { moment: hits.event(row), call: null });
  if (own < 0) return "";
  const get = (name: string) => brief(table.at(own, name) ?? Number.NaN);
  return `${watchedName(site)} ${table.isScalar ? get(SCALAR) : `${get("min")} … ${get("max")}`}`;
}
