/** When things happened: calls as bars, events as ticks by site, the wait for effects. Choosing a call narrows all views. */
import { useRef } from "preact/hooks";
import { seconds } from "../../kit/format";
import { siteColour } from "../../kit/theme";
import { ticks } from "../../kit/ticks";
import type { RunStore } from "../../store/run";
import { type Bar, barrierWait, barsOf } from "../../store/spans";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { elapsed } from "../life/elapsed";
import { siteName } from "../sites/name";
import type { Stretch } from "./axis";
import { CALL_ROW, CallBar } from "./CallBar";
import { EventTicks } from "./EventTicks";
import { useNavigation } from "./navigate";

const MOST_BARS = 400;
const TICKS = 8;
/** Seconds, so that a run that has just begun has an axis. */
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
  const { seen, onKeyDown, field } = useNavigation({ from: 0, to: now * 1.02 }, section);
  const calls = [...run.calls.values()];
  const bars = barsOf(calls, now);
  const wait = barrierWait(calls, status, now);
  const callsHeight = `${CALL_ROW * Math.max(1, ...bars.map((bar) => bar.row + 1))}px`;
  const percent = (time: number) => `${(100 * (time - seen.from)) / (seen.to - seen.from)}%`;
  const choose = ({ call }: Bar) => {
    const next = ui.onlyCall.value === call.id ? null : call.id;
    ui.onlyCall.value = next;
    ui.call.value = next;
  };
  const visible = bars.filter((bar) => bar.to >= seen.from && bar.from <= seen.to).slice(-MOST_BARS);
  return (
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
      <Names run={run} callsHeight={callsHeight} waited={wait !== null} />
      <div class="time-field" {...field}>
        <Axis seen={seen} percent={percent} />
        <div class="time-calls" style={{ height: callsHeight }}>
          {visible.map((bar) => (
            <CallBar
              key={bar.call.id}
              bar={bar}
              chosen={ui.onlyCall.value === bar.call.id}
              percent={percent}
              choose={choose}
            />
          ))}
        </div>
        {wait && (
          <div class="time-barrier" title={`The barrier waited ${seconds(status.barrier.waited)}`}>
            <span
              class="span drain"
              style={{ left: percent(wait.from), width: `calc(${percent(wait.to)} - ${percent(wait.from)})` }}
            />
          </div>
        )}
        <EventTicks run={run} ui={ui} seen={seen} dark={dark} />
      </div>
    </section>
  );
}

function Axis({ seen, percent }: { seen: Stretch; percent: (time: number) => string }) {
  const times = ticks(seen.from, seen.to, TICKS);
  const step = (times[1] ?? 1) - (times[0] ?? 0);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return (
    <div class="time-axis">
      {times.map((time) => (
        <span key={time} class="tick muted number" style={{ left: percent(time) }}>
          {time.toFixed(decimals)}
        </span>
      ))}
    </div>
  );
}

function Names({ run, callsHeight, waited }: { run: RunStore; callsHeight: string; waited: boolean }) {
  run.watch();
  return (
    <div class="time-names">
      <span class="time-name muted">seconds</span>
      <span class="time-name" style={{ height: callsHeight }}>
        calls
      </span>
      {waited && <span class="time-name">barrier</span>}
      {[...run.sites.values()].map((site) => (
        <span key={site.id} class="time-name mono" style={{ color: `var(${siteColour(run.rank.get(site.id) ?? 0)})` }}>
          {siteName(site)}
        </span>
      ))}
    </div>
  );
}
