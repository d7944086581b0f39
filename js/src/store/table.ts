/** Events as records, for copying and export. */
import type { RunStore } from "./run";
import { stepsOf } from "./steps";
import type { Positions } from "./stream";

export interface EventRecord {
  event: number;
  time: number;
  site: number;
  where: string;
  label: string;
  phase: string;
  ordered: boolean;
  lane: number | null;
  occurrence: number;
  step: string | null;
  device: string | null;
  call: string | null;
  text: string | null;
}

/** Yields the events at `positions`, without gaps. */
export function* records(run: RunStore, positions: Positions): Generator<EventRecord> {
  const { log } = run;
  for (let i = 0; i < positions.length; i++) {
    const at = positions.at(i);
    if (log.gapCount(at) > 0) continue;
    const event = log.number(at);
    const site = run.siteAt(at);
    const lane = log.lane(at);
    yield {
      event,
      time: log.time(at),
      site: log.site(at),
      where: site?.where ?? "",
      label: site?.label ?? "",
      phase: site?.phase ?? "",
      ordered: site?.ordered ?? false,
      lane: lane < 0 ? null : lane,
      occurrence: log.occurrence(at),
      step: stepsOf(log, at, site).join(".") || null,
      device: run.devices[log.device(at)] ?? null,
      call: run.calls.get(log.call(at))?.name ?? null,
      text: run.texts.get(event) ?? null,
    };
  }
}

export function toCsv(rows: Iterable<EventRecord>): string {
  const lines: string[] = [];
  for (const row of rows) {
    if (lines.length === 0) lines.push(Object.keys(row).join());
    lines.push(Object.values(row).map(csvField).join());
  }
  return `${lines.join("\r\n")}\r\n`;
}

function csvField(value: unknown): string {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns the code of a cell that gets these events of the run `key`. */
export function asPython(key: string, numbers: readonly number[], oldest: number): string {
  return `import jax_debug_widgets as jdw\n\nrun = jdw.find_run("${key}")\n${eventsOf(numbers, oldest)}`;
}

/** If the `oldest` events are no longer kept, indices into the list have shifted, so the code finds events by `seq`. */
function eventsOf(numbers: readonly number[], oldest: number): string {
  const [first = 0] = numbers;
  const last = numbers.at(-1) ?? first;
  if (oldest > 0) {
    return numbers.length === 1
      ? `next(event for event in run.events if event.seq == ${first})`
      : `[event for event in run.events if event.seq in {${numbers.join(", ")}}]`;
  }
  if (numbers.length === 1) return `run.events[${first}]`;
  if (last - first === numbers.length - 1) return `run.events[${first}:${last + 1}]`;
  return `[run.events[i] for i in (${numbers.join(", ")})]`;
}
