/** Goes back through the run, in all views together: from event to event; how fast they came stands above. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { count, seconds } from "../../kit/format";
import { clearCanvas, useSize } from "../../kit/size";
import { colourAt } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { siteName } from "../sites/name";
import { pulse } from "./pulse";

const BAR = 3;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: boolean;
}

export function Scrubber({ run, ui, dark }: Props) {
  run.watch();
  const moment = ui.moment.value;
  if (run.log.length === 0) return null;
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
          aria-valuetext={moment === null ? "live" : `event ${moment}, ${words}`}
          onInput={(event) => {
            const chosen = event.currentTarget.valueAsNumber;
            ui.moment.value = chosen >= last ? null : chosen;
          }}
        />
      </div>
      <button
        type="button"
        class="toggle"
        data-testid="live"
        aria-pressed={moment === null}
        title="Back to the newest event (l)"
        onClick={() => {
          ui.moment.value = null;
        }}
      >
        live ▸
      </button>
    </div>
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
