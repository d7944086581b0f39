/**
 * The lanes and devices of a value at one step: a bar for each, on demand sorted with the worst first. One can be
 * selected.
 */
import { signal } from "@preact/signals";
import { brief, count } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { WatchSite } from "../../store/watched";
import { useLast } from "../arrays/Slice";
import { wordFor } from "../names/statistic";
import type { Seen } from "../source/reading";
import { Section } from "./Section";
import { type Lane, laneNames, lanesOf, ranked, spreadOf } from "./spread";
import type { PartProps } from "./Whole";

const MOST_LISTED = 200;
const COLUMNS = ["value", "min", "mean", "max", "std", "nan"];
const ABOUT_LANE = ["lane", "device"];

/** Whether panels of this page sort the worst lanes first. */
const worstFirst = signal(false);

interface Table {
  lanes: readonly Lane[];
  names: readonly string[];
  /** What is not shown, in words. */
  left: string;
}

export function Lanes({ run, ui, site, found }: PartProps) {
  run.watch();
  const areAsked = found !== null && found.site.watch.lanes.length > 0;
  const fire = found !== null && found.rows.length > 1;
  const offer = <LaneSwitch run={run} site={site} />;
  const canAsk = site.watch.lanes.length === 0 && site.transforms.includes("vmap");
  if (!areAsked && !fire && !canAsk) return null;
  const rank = (
    <button
      type="button"
      class="mini"
      aria-pressed={worstFirst.value}
      title="Show the lanes that are not finite first, then the largest ones"
      data-testid="worst-first"
      onClick={() => {
        worstFirst.value = !worstFirst.value;
      }}
    >
      worst first
    </button>
  );
  const tools = (
    <>
      {(areAsked || fire) && rank}
      {offer}
    </>
  );
  return (
    <Section ui={ui} name="Lanes" about={wordFor(ui.statistic.value)} tools={tools}>
      {areAsked ? <ByLane run={run} ui={ui} found={found} /> : fire && <Firings ui={ui} found={found} />}
      {!areAsked && !fire && (
        <p class="muted">These statistics are of all lanes together. From the next run on, each lane has its own.</p>
      )}
    </Section>
  );
}

interface Props {
  run: RunStore;
  ui: UiState;
  found: Seen;
}

/** The statistics of each lane of a `vmap`, if they are recorded. */
function ByLane({ run, ui, found: { table, row, site } }: Props) {
  run.watch();
  const wanted = { event: table.event(row), value: site.values.indexOf("lanes"), index: [], image: false };
  const answer = run.arrays.get(wanted);
  const slice = useLast(answer);
  if (typeof answer === "string") return <p class="bad-text">{answer}</p>;
  if (!slice) return <p class="muted">{run.gone ? "The kernel is gone, and with it the lanes." : "Loading …"}</p>;
  const lanes = lanesOf(slice, site.values);
  const all = site.watch.lanes.reduce((product, size) => product * size, 1);
  const left =
    all > lanes.length
      ? `the first ${count(lanes.length)} of ${count(all)} lanes; the statistics of the value are of all lanes`
      : "";
  return (
    <div data-testid="by-lane" data-event={slice.event}>
      <Listed
        ui={ui}
        name={site.watch.name}
        lanes={lanes}
        names={laneNames(site.watch.lanes, lanes.length)}
        left={left}
      />
    </div>
  );
}

/** The lanes or devices that have a row each. */
function Firings({ ui, found: { table, rows, site } }: Omit<Props, "run">) {
  const shown = [...rows].reverse();
  const lanes = shown.map((row) =>
    Object.fromEntries(table.statistics.map((name) => [name, table.at(row, name) as number])),
  );
  const about = ABOUT_LANE.filter((name) => table.has(name) && shown.some((row) => table.at(row, name) !== -1));
  const names = shown.map((row) => about.map((name) => String(table.at(row, name))).join(" · "));
  return (
    <div data-testid="lanes">
      <Listed ui={ui} name={site.watch.name} lanes={lanes} names={names} left="" />
    </div>
  );
}

function Listed({ ui, name, lanes, names, left }: Table & { ui: UiState; name: string }) {
  const columns = COLUMNS.filter((column) => lanes.some((lane) => lane[column] !== undefined));
  const order = worstFirst.value ? ranked(lanes) : lanes.map((_, i) => i);
  const notes = [left, lanes.length > MOST_LISTED ? `${MOST_LISTED} are listed` : ""].filter(Boolean);
  const picked = names.indexOf(ui.lane.value);
  const pick = (lane: string) => {
    ui.lane.value = ui.lane.value === lane ? "" : lane;
  };
  return (
    <figure class="by-lane">
      <Spread lanes={lanes} name={name} at={picked} pick={(lane) => pick(names[lane] as string)} />
      {notes.length > 0 && <figcaption class="muted">{notes.join(" · ")}</figcaption>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by the keyboard */}
      <section class="lanes-room" tabIndex={0} aria-label={`Lanes of ${name}`}>
        <table class="lanes mono number">
          <thead>
            <tr>
              {["lane", ...columns].map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {order.slice(0, MOST_LISTED).map((i) => {
              const [lane, called] = [lanes[i] as Lane, names[i] as string];
              return (
                <tr key={called} class={`${isBad(lane) ? "bad-text" : ""}${i === picked ? " picked" : ""}`}>
                  <td>
                    <button type="button" class="link" title="Pick this lane" onClick={() => pick(called)}>
                      {called}
                    </button>
                  </td>
                  {columns.map((column) => (
                    <td key={column}>{brief(lane[column] as number)}</td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </figure>
  );
}

interface SpreadProps {
  lanes: readonly Lane[];
  name: string;
  at: number;
  pick: (lane: number) => void;
}

/** A chart of the lanes: a line from the least to the greatest number of each lane, with a dot at its mean. */
function Spread({ lanes, name, at, pick }: SpreadProps) {
  const { range, mean, bad, words } = spreadOf(lanes);
  const label = `${name} by lane: ${words}`;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table below has a button for each lane
    <svg
      class="spread"
      viewBox={`0 0 ${lanes.length} 1`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      onClick={(event) => {
        const { left, width } = event.currentTarget.getBoundingClientRect();
        pick(Math.min(lanes.length - 1, Math.floor(((event.clientX - left) / width) * lanes.length)));
      }}
    >
      <title>{label}</title>
      {at >= 0 && <rect class="spread-at" x={at} width={1} height={1} />}
      <path class="spark-bad" d={bad} />
      <path d={range} />
      <path class="spread-mean" d={mean} />
    </svg>
  );
}

function isBad(lane: Lane): boolean {
  return ["nan", "posinf", "neginf"].some((name) => (lane[name] ?? 0) > 0) || !Number.isFinite(lane.value ?? 0);
}

/** Starts or stops recording the lanes of a value, from the next run on. */
function LaneSwitch({ run, site }: { run: RunStore; site: WatchSite }) {
  const { watch, transforms } = site;
  if (watch.lanes.length === 0 && !transforms.includes("vmap")) return null;
  const pattern = `lanes/${watch.name}`;
  const isAdded = run.status?.added.some((added) => added === pattern || added.startsWith(`${pattern}@`)) ?? false;
  const isShown = watch.lanes.length > 0;
  if (isShown && !isAdded) return null;
  return (
    <button
      type="button"
      class="toggle"
      data-testid="by-lane-toggle"
      aria-pressed={isAdded}
      disabled={run.gone}
      title={
        isAdded
          ? "Do not record the lanes in the next run"
          : "Record its statistics for each lane from the next run on: they are compiled into the program"
      }
      onClick={() => run.askWatch([pattern], !isAdded)}
    >
      {isAdded && !isShown ? "by lane from the next run on" : "by lane"}
    </button>
  );
}
