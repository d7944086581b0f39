/** The lanes and devices of one execution of a value: those that fire by themselves, and those that were asked for. */
import { brief, count } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { WatchSite } from "../../store/watched";
import { useLast } from "../arrays/Slice";
import type { Seen } from "./reading";
import { type Lane, laneNames, lanesOf, spreadOf } from "./spread";

const MOST_LISTED = 200;
const COLUMNS = ["value", "min", "mean", "max", "std", "nan"];

interface Props {
  run: RunStore;
  found: Seen;
}

/** Each lane of a `vmap`, where they were asked for. */
export function ByLane({ run, found: { table, row, site } }: Props) {
  const wanted = { event: table.event(row), value: site.values.indexOf("lanes"), index: [], image: false };
  const answer = run.arrays.get(wanted);
  const slice = useLast(answer);
  if (typeof answer === "string") return <p class="bad-text">{answer}</p>;
  if (!slice) return <p class="muted">{run.gone ? "The kernel is gone, and with it the lanes." : "Loading …"}</p>;
  const lanes = lanesOf(slice, site.values);
  const all = site.watch.lanes.reduce((product, size) => product * size, 1);
  const names = laneNames(site.watch.lanes, lanes.length);
  const columns = COLUMNS.filter((name) => lanes.some((lane) => lane[name] !== undefined));
  const left = [
    all > lanes.length ? `the first ${count(lanes.length)} of ${count(all)} lanes; its statistics are of all` : "",
    lanes.length > MOST_LISTED ? `the first ${MOST_LISTED} are listed` : "",
  ];
  return (
    <figure class="by-lane" data-testid="by-lane" data-event={slice.event}>
      <Spread lanes={lanes} name={site.watch.name} />
      <figcaption class="muted">{left.filter(Boolean).join(" · ")}</figcaption>
      <table class="lanes mono number">
        <Head columns={["lane", ...columns]} />
        {lanes.slice(0, MOST_LISTED).map((lane, i) => (
          <tr key={names[i]} class={isBad(lane) ? "bad-text" : ""}>
            <td>{names[i]}</td>
            {columns.map((name) => (
              <td key={name}>{brief(lane[name] as number)}</td>
            ))}
          </tr>
        ))}
      </table>
    </figure>
  );
}

/** Side by side: a line from the least to the greatest of each lane, with a dot at its mean. */
function Spread({ lanes, name }: { lanes: readonly Lane[]; name: string }) {
  const { range, mean, bad, words } = spreadOf(lanes);
  const label = `${name} by lane: ${words}`;
  return (
    <svg class="spread" viewBox={`0 0 ${lanes.length} 1`} preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      <path class="spark-bad" d={bad} />
      <path d={range} />
      <path class="spread-mean" d={mean} />
    </svg>
  );
}

function isBad(lane: Lane): boolean {
  return ["nan", "posinf", "neginf"].some((name) => (lane[name] ?? 0) > 0) || !Number.isFinite(lane.value ?? 0);
}

/** Each lane, or device, that has fired by itself. */
export function Firings({ found: { table, rows } }: { found: Seen }) {
  const columns = ["lane", "device", ...COLUMNS].filter((name) => table.has(name) && table.at(0, name) !== -1);
  return (
    <table class="lanes mono number" data-testid="lanes">
      <Head columns={columns} />
      {rows.slice(-MOST_LISTED).map((row) => (
        <tr key={row} class={table.isBad(row) ? "bad-text" : ""}>
          {columns.map((name) => (
            <td key={name}>{brief(table.at(row, name) as number)}</td>
          ))}
        </tr>
      ))}
    </table>
  );
}

function Head({ columns }: { columns: readonly string[] }) {
  return (
    <tr>
      {columns.map((name) => (
        <th key={name}>{name}</th>
      ))}
    </tr>
  );
}

/** Asks for the lanes of a value from the next run on, or no longer. */
export function LaneSwitch({ run, site }: { run: RunStore; site: WatchSite }) {
  const { watch, transforms } = site;
  if (watch.lanes.length === 0 && !transforms.includes("vmap")) return null;
  const pattern = `lanes/${watch.name}`;
  const isAdded = run.status?.added.some((one) => one === pattern || one.startsWith(`${pattern}@`)) ?? false;
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
          ? "Take it back"
          : "Its statistics for each lane, from the next run on: they are compiled into the program"
      }
      onClick={() => run.askWatch([pattern], !isAdded)}
    >
      {isAdded && !isShown ? "by lane from the next run on" : "by lane"}
    </button>
  );
}
