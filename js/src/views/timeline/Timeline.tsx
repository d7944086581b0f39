/**
 * The timeline: calls and waits as bars by thread, events as ticks by site or device. Selecting a call limits all views
 * to it.
 */
import { useRef } from "preact/hooks";
import { plural, seconds } from "../../kit/format";
import { useSize } from "../../kit/size";
import { siteColour } from "../../kit/theme";
import { ticks } from "../../kit/ticks";
import type { RunStore } from "../../store/run";
import { type Bar, byThread, type ThreadOfCalls, type WaitSpan, waitsOf } from "../../store/spans";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { NoCalls } from "../calls/NoCalls";
import { elapsed } from "../life/elapsed";
import { siteName } from "../sites/name";
import { distinct, roomy, type Stretch } from "./axis";
import { CALL_ROW, CallBar } from "./CallBar";
import { EventTicks } from "./EventTicks";
import { useNavigation } from "./navigate";
import { ThreadBars } from "./ThreadBars";
import { Totals } from "./Totals";

/** From this share of the width on, a number is left of its tick, because there may be no space on the right. */
const NEAR_END = 0.88;
const MOST_TICKS = 8;
/** The pixels that a tick and its number need. */
const TICK_ROOM = 70;
/** In seconds, so that a run that has just begun has an axis. */
const SHORTEST_RUN = 1e-3;

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Timeline({ run, ui, status, dark }: Props) {
  run.watch();
  const section = useRef<HTMLElement>(null);
  const lastEvent = run.log.length > 0 ? run.log.time(run.log.length - 1) : 0;
  const now = Math.max(elapsed(run, status), lastEvent, SHORTEST_RUN);
  const { seen, see, onKeyDown, field } = useNavigation({ from: 0, to: run.active ? roomy(now) : now * 1.02 }, section);
  const threads = byThread(run.calls.values(), now);
  const waits = waitsOf(status, run.threads, now);
  const isEmpty = run.calls.size + waits.length + run.log.length + run.threads.busy.size === 0;
  const busy = [...run.threads.busy].sort((a, b) => a - b);
  const percent = (time: number) => `${(100 * (time - seen.from)) / (seen.to - seen.from)}%`;
  const choose = ({ call }: Bar) => {
    const next = ui.onlyCall.value === call.id ? null : call.id;
    ui.onlyCall.value = next;
    ui.call.value = next;
  };
  if (isEmpty) return <NoCalls status={status} />;
  return (
    <div class="timeline-view">
      <section
        ref={section}
        class="timeline"
        data-testid="timeline"
        data-from={seen.from}
        data-to={seen.to}
        aria-label="Timeline: plus and minus zoom, the arrow keys move, 0 shows all"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: moved and zoomed by the keyboard
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <Names run={run} threads={threads} busy={busy} waited={waits.length > 0} />
        <div class="time-field" {...field}>
          <Axis seen={seen} percent={percent} />
          {threads.map(({ name, bars, rows }) => (
            <div key={name} class="time-calls" style={{ height: `${CALL_ROW * rows}px` }}>
              {distinct(bars, seen, ({ call }) => call.error !== "" || call.id === ui.onlyCall.value).map((bar) => (
                <CallBar
                  key={bar.call.id}
                  bar={bar}
                  chosen={ui.onlyCall.value === bar.call.id}
                  share={(bar.to - bar.from) / (seen.to - seen.from)}
                  percent={percent}
                  choose={choose}
                  zoomTo={({ from, to }) => see({ from: from - 0.03 * (to - from), to: to + 0.03 * (to - from) })}
                />
              ))}
            </div>
          ))}
          {waits.length > 0 && (
            <div class="time-barrier" role="img" aria-label={`Waited ${plural(waits.length, "time")}`}>
              {distinct(waits, seen).map((wait) => (
                <Wait key={wait.from} wait={wait} percent={percent} />
              ))}
            </div>
          )}
          {busy.length > 0 && <ThreadBars run={run} ui={ui} rows={busy} seen={seen} dark={dark} />}
          <EventTicks run={run} ui={ui} by="site" rows={run.streamSites.map(({ id }) => id)} seen={seen} dark={dark} />
          {run.devices.length > 0 && (
            <EventTicks run={run} ui={ui} by="device" rows={[...run.devices.keys()]} seen={seen} dark={dark} />
          )}
        </div>
      </section>
      <Totals threads={threads} waits={waits} seen={seen} now={now} />
    </div>
  );
}

function Wait({ wait, percent }: { wait: WaitSpan; percent: (time: number) => string }) {
  const { from, to, what, thread } = wait;
  const where = thread && ` in jax.${what === "effects" ? "effects_barrier" : "block_until_ready"}, ${thread}`;
  return (
    <span
      class={`span ${what === "effects" ? "drain" : "block"}`}
      title={`Waited ${seconds(to - from)} for ${what}${where}`}
      style={{ left: percent(from), width: `calc(${percent(to)} - ${percent(from)})` }}
    />
  );
}

function Axis({ seen, percent }: { seen: Stretch; percent: (time: number) => string }) {
  const axis = useRef<HTMLDivElement>(null);
  const { width } = useSize(axis);
  const times = ticks(seen.from, seen.to, Math.min(MOST_TICKS, width / TICK_ROOM || MOST_TICKS));
  const step = (times[1] ?? 1) - (times[0] ?? 0);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return (
    <div class="time-axis" ref={axis}>
      {times.map((time) => (
        <span
          key={time}
          class={`tick muted number${time - seen.from > NEAR_END * (seen.to - seen.from) ? " before" : ""}`}
          style={{ left: percent(time) }}
        >
          {time.toFixed(decimals)}
        </span>
      ))}
    </div>
  );
}

interface NamesProps {
  run: RunStore;
  threads: ThreadOfCalls[];
  busy: number[];
  waited: boolean;
}

function Names({ run, threads, busy, waited }: NamesProps) {
  run.watch();
  return (
    <div class="time-names">
      <span class="time-name muted">seconds</span>
      {threads.map(({ name, rows }) => (
        <span key={name} class="time-name" style={{ height: `${CALL_ROW * rows}px` }} title={name}>
          {threads.length > 1 ? name : "calls"}
        </span>
      ))}
      {waited && <span class="time-name">waits</span>}
      {busy.map((thread) => (
        <span key={thread} class="time-name muted" title={`Host functions on thread ${run.threads.names[thread]}`}>
          ƒ {run.threads.nameOf(thread)}
        </span>
      ))}
      {run.streamSites.map((site) => (
        <span
          key={site.id}
          class="time-name mono"
          title={siteName(run, site)}
          style={{ color: `var(${siteColour(run.rank.get(site.id) ?? 0)})` }}
        >
          {siteName(run, site)}
        </span>
      ))}
      {run.devices.map((name) => (
        <span key={name} class="time-name mono muted">
          {name}
        </span>
      ))}
    </div>
  );
}
