/** Goes back through the run, in all views together: from event to event; how fast they came stands above. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { count, seconds } from "../../kit/format";
import { clearCanvas, useSize } from "../../kit/size";
import { colourAt } from "../../kit/theme";
import { atStop, earlier, endedAt } from "../../store/atStop";
import { clockOf, moveTo, whenOf } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { WatchTable } from "../../store/watched";
import { tabOf } from "../panel/available";
import { siteName } from "../sites/name";
import { pulse } from "./pulse";

const BAR = 3;
/** Of steps that were not finite: of more several share one. */
const MOST_MARKS = 400;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: boolean;
}

export function Scrubber({ run, ui, dark }: Props) {
  run.watch();
  const moment = ui.moment.value;
  if (run.log.length === 0) return null;
  const clock = tabOf(ui) === "source" ? clockOf(run) : undefined;
  if (clock) return <Steps run={run} ui={ui} clock={clock} />;
  const last = run.next - 1;
  const at = run.log.lowerBound((moment ?? last) + 1) - 1;
  const site = run.sites.get(run.log.site(at));
  const step = site ? `${siteName(run, site)} ${count(run.log.occurrence(at))}` : "dropped";
  const words = `${seconds(run.log.time(at))} · ${step}`;
  return (
    <div class="scrubber" data-testid="scrubber" data-moment={moment ?? "live"}>
      <output class="number moment" title={words}>
        {words}
      </output>
      <div class="track">
        <Pulse run={run} dark={dark} />
        <input
          type="range"
          min={run.log.number(0)}
          max={last}
          value={moment ?? last}
          aria-label="Moment of the run"
          title="Look at the run as it was then"
          aria-valuetext={moment === null ? "live" : `event ${moment}, ${words}`}
          onInput={(event) => {
            const chosen = event.currentTarget.valueAsNumber;
            ui.moment.value = chosen >= last ? null : chosen;
          }}
        />
      </div>
      <Live ui={ui} />
    </div>
  );
}

/** Beside the code, from step to step; red where something was not finite. */
function Steps({ run, ui, clock }: Omit<Props, "dark"> & { clock: WatchTable }) {
  run.watch();
  const moment = ui.moment.value;
  const row = clock.rowAt({ moment: moment === null ? null : run.log.endOf(moment), call: ui.onlyCall.value });
  const stop = moment === null ? atStop(run, run.debugger.stop ?? endedAt(run, ui)) : null;
  const stands = stop && (row < 0 || earlier(clock, row, stop)) ? `${stop.when} (stopped)` : "";
  const name = stands || (row < 0 ? "not yet" : whenOf(clock, row));
  const words = `${name} · ${count(row + 1)} of ${count(clock.length)}`;
  const last = Math.max(0, clock.length - 1);
  return (
    <div class="scrubber" data-testid="scrubber" data-moment={moment ?? "live"}>
      <StepButton words="A step back" sign="‹" off={row <= 0} go={() => moveTo(ui, clock, row - 1)} />
      <StepButton words="A step on" sign="›" off={row >= last} go={() => moveTo(ui, clock, row + 1)} />
      <output class="number steps" data-testid="when" title={words}>
        {words}
      </output>
      <div class="track">
        <svg class="pulse bad-steps" viewBox={`0 0 ${MOST_MARKS} 1`} preserveAspectRatio="none" aria-hidden="true">
          <path d={badSteps(run, clock)} />
        </svg>
        <input
          type="range"
          data-testid="step"
          min={0}
          max={last}
          value={Math.max(0, row)}
          aria-label="Step"
          title="Look at the values of a step"
          aria-valuetext={words}
          onInput={(event) => moveTo(ui, clock, event.currentTarget.valueAsNumber)}
        />
      </div>
      <Live ui={ui} />
    </div>
  );
}

function badSteps(run: RunStore, clock: WatchTable): string {
  const { bad } = run.watched;
  const bins = Math.min(clock.length, MOST_MARKS);
  let path = "";
  for (let bin = 0; bin < bins && bad.length > 0; bin++) {
    const [from, to] = [bin, bin + 1].map((one) => Math.floor((one * clock.length) / bins)) as [number, number];
    const end = to < clock.length ? clock.event(to) : Number.POSITIVE_INFINITY;
    if (bad.lowerBound(clock.event(from)) < bad.lowerBound(end)) path += `M${markAt(from, clock.length)} 0h1v1h-1z`;
  }
  return path;
}

/** Under the middle of the thumb at that row: the first stands at the one end, the last at the other. */
function markAt(row: number, rows: number): number {
  return Number((((MOST_MARKS - 1) * row) / Math.max(1, rows - 1)).toFixed(2));
}

function StepButton({ words, sign, off, go }: { words: string; sign: string; off: boolean; go: () => void }) {
  return (
    <button type="button" class="step-button" aria-label={words} title={words} disabled={off} onClick={go}>
      {sign}
    </button>
  );
}

function Live({ ui }: { ui: UiState }) {
  return (
    <button
      type="button"
      class="toggle"
      data-testid="live"
      aria-pressed={ui.moment.value === null}
      title="Back to the newest event (l)"
      onClick={() => {
        ui.moment.value = null;
      }}
    >
      live ▸
    </button>
  );
}

function Pulse({ run, dark }: { run: RunStore; dark: boolean }) {
  run.watch();
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height } = useSize(canvas);
  // `dark` changes what the colours are worth.
  useLayoutEffect(() => {
    const context = clearCanvas(canvas.current, width, height);
    if (!context) return;
    const { parentElement } = context.canvas;
    const bins = Math.floor(width / BAR);
    const { speed, bad } = pulse(run, bins);
    const most = Math.max(...speed) || 1;
    const [grey, red] = ["--fg2", "--bad"].map((name) => colourAt(parentElement ?? document.body, name));
    for (let bin = 0; bin < bins; bin++) {
      const tall = 2 + (height - 5) * Math.sqrt((speed[bin] as number) / most);
      context.globalAlpha = bad.has(bin) ? 1 : 0.45;
      context.fillStyle = (bad.has(bin) ? red : grey) ?? "";
      context.fillRect(bin * BAR, height - (bad.has(bin) ? height : tall), BAR - 1, height);
    }
  }, [run.next, run.log.length, width, height, dark]);
  return <canvas ref={canvas} class="pulse" />;
}
