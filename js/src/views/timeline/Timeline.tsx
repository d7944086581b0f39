/** When things happened: calls as bars, events as ticks by site, the wait for effects. Choosing a call narrows all views. */
import { useRef, useState } from "preact/hooks";
import { seconds } from "../../kit/format";
import { siteColour } from "../../kit/theme";
import { ticks } from "../../kit/ticks";
import type { RunStore } from "../../store/run";
import { type Bar, barrierWait, barsOf } from "../../store/spans";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { elapsed } from "../life/elapsed";
import { siteName } from "../sites/name";
import { moved, type Stretch, within, zoomed } from "./axis";
import { EventTicks } from "./EventTicks";

const MOST_BARS = 400;
const CALL_ROW = 22;
const STEPS: Readonly<Record<string, (stretch: Stretch) => Stretch>> = {
  ArrowLeft: (stretch) => moved(stretch, -0.2),
  ArrowRight: (stretch) => moved(stretch, 0.2),
  "+": (stretch) => zoomed(stretch, 0.6, 0.5),
  "=": (stretch) => zoomed(stretch, 0.6, 0.5),
  "-": (stretch) => zoomed(stretch, 1.6, 0.5),
};

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Timeline({ run, ui, status, dark }: Props) {
  run.watch();
  const [chosen, setSeen] = useState<Stretch | null>(null);
  const field = useRef<HTMLElement>(null);
  const now = Math.max(elapsed(run, status), run.log.length > 0 ? run.log.time(run.log.length - 1) : 0, 1e-3);
  const whole = { from: 0, to: now * 1.02 };
  const seen = chosen ? within(chosen, whole) : whole;
  const see = (next: Stretch) => setSeen(next.to - next.from >= whole.to ? null : within(next, whole));
  const calls = [...run.calls.values()];
  const bars = barsOf(calls, now);
  const wait = barrierWait(calls, status, now);
  const rows = Math.max(1, ...bars.map((bar) => bar.row + 1));

  const times = ticks(seen.from, seen.to, 8);
  const decimals = Math.max(0, Math.ceil(-Math.log10((times[1] ?? 1) - (times[0] ?? 0)) - 1e-9));

  const onWheel = (event: WheelEvent) => {
    // Without a modifier the notebook scrolls, unless the timeline is what is worked with.
    const inUse = field.current?.matches(":focus-within");
    if (!inUse && !event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    const box = event.currentTarget as HTMLElement;
    const share = (event.clientX - box.getBoundingClientRect().left) / box.clientWidth;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      see(moved(seen, (event.deltaX || event.deltaY) / box.clientWidth));
    } else see(zoomed(seen, Math.exp(event.deltaY / 300), share));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "0") setSeen(null);
    else if (STEPS[event.key]) see((STEPS[event.key] as (stretch: Stretch) => Stretch)(seen));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const drag = useDrag((share) => see(moved(seen, -share)));
  const percent = (time: number) => `${(100 * (time - seen.from)) / (seen.to - seen.from)}%`;
  const choose = ({ call }: Bar) => {
    const again = ui.onlyCall.value === call.id;
    ui.onlyCall.value = again ? null : call.id;
    ui.call.value = again ? null : call.id;
  };
  const visible = bars.filter((bar) => bar.to >= seen.from && bar.from <= seen.to).slice(-MOST_BARS);
  return (
    <section
      ref={field}
      class="timeline"
      data-testid="timeline"
      data-from={seen.from}
      data-to={seen.to}
      aria-label="Timeline: plus and minus zoom, the arrow keys move, 0 shows all"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: moved and zoomed by the keyboard
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div class="time-names">
        <span class="time-name muted">seconds</span>
        <span class="time-name" style={{ height: `${rows * CALL_ROW}px` }}>
          calls
        </span>
        {wait && <span class="time-name">barrier</span>}
        {[...run.sites.values()].map((site) => (
          <span
            key={site.id}
            class="time-name mono"
            style={{ color: `var(${siteColour(run.rank.get(site.id) ?? 0)})` }}
          >
            {siteName(site)}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys of the section do the same */}
      <div class="time-field" onWheel={onWheel} onDblClick={() => setSeen(null)} {...drag}>
        <div class="time-axis">
          {times.map((time) => (
            <span key={time} class="tick muted number" style={{ left: percent(time) }}>
              {time.toFixed(decimals)}
            </span>
          ))}
        </div>
        <div class="time-calls" style={{ height: `${rows * CALL_ROW}px` }}>
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
            <span class="span drain" style={{ left: percent(wait.from), width: widthOf(wait, seen) }} />
          </div>
        )}
        <EventTicks run={run} ui={ui} seen={seen} dark={dark} />
      </div>
    </section>
  );
}

interface BarProps {
  bar: Bar;
  chosen: boolean;
  percent: (time: number) => string;
  choose: (bar: Bar) => void;
}

function CallBar({ bar, chosen, percent, choose }: BarProps) {
  const { call, spans } = bar;
  const words = spans.map(({ stage, from, to }) => `${stage} ${seconds(to - from)}`).join(", ");
  const length = bar.to - bar.from || 1;
  return (
    <button
      type="button"
      class="call-bar"
      data-call={call.id}
      aria-pressed={chosen}
      aria-label={`call ${call.id} ${call.name}: ${words || call.state}`}
      title={`${call.name}\n${words}${call.error && `\n${call.error}`}`}
      style={{
        left: percent(bar.from),
        width: `calc(${percent(bar.to)} - ${percent(bar.from)})`,
        top: `${bar.row * CALL_ROW}px`,
      }}
      onClick={() => choose(bar)}
    >
      {spans.map(({ stage, from, to }) => (
        <span
          key={stage}
          class={`span ${stage}${call.error && stage === "run" ? " bad" : ""}`}
          style={{ left: `${(100 * (from - bar.from)) / length}%`, width: `${(100 * (to - from)) / length}%` }}
        />
      ))}
      <span class="call-name mono">{call.name}</span>
    </button>
  );
}

function widthOf({ from, to }: Stretch, seen: Stretch): string {
  return `${(100 * (to - from)) / (seen.to - seen.from)}%`;
}

/** Told how far the pointer was dragged, as a share of the width. */
function useDrag(onDrag: (share: number) => void) {
  const last = useRef<number | null>(null);
  return {
    onPointerDown: (event: PointerEvent) => {
      last.current = event.clientX;
    },
    onPointerMove: (event: PointerEvent) => {
      if (last.current === null || event.buttons !== 1) return;
      const field = event.currentTarget as HTMLElement;
      onDrag((event.clientX - last.current) / field.clientWidth);
      last.current = event.clientX;
    },
    onPointerUp: () => {
      last.current = null;
    },
  };
}
