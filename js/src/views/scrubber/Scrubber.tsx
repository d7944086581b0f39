/** The slider of the steps, for all views together. Steps at which something was not finite are red. */
import { count } from "../../kit/format";
import { atStop, earlier, endedAt } from "../../store/atStop";
import { type Clock, clockOf, moveTo, whenOf } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";

/** The most red marks. If there are more steps, several share a mark. */
const MOST_MARKS = 400;

interface Props {
  run: RunStore;
  ui: UiState;
}

export function Scrubber({ run, ui }: Props) {
  run.watch();
  const moment = ui.moment.value;
  const clock = clockOf(run);
  if (!clock) return null;
  const row = clock.rowAt({ moment: moment === null ? null : run.log.endOf(moment), call: ui.onlyCall.value });
  const stop = moment === null ? atStop(run, run.debugger.stop ?? endedAt(run, ui)) : null;
  const stands = stop && (row < 0 || earlier(clock, row, stop)) ? `${stop.when} (stopped)` : "";
  const name = stands || (row < 0 ? "not yet" : whenOf(clock, row));
  const words = `${name} · ${count(row + 1)} of ${count(clock.length)}`;
  const last = Math.max(0, clock.length - 1);
  return (
    <div class="scrubber" data-testid="scrubber" data-moment={moment ?? "live"}>
      <StepButton words="Previous step" sign="‹" off={row <= 0} go={() => moveTo(ui, clock, row - 1)} />
      <StepButton words="Next step" sign="›" off={row >= last} go={() => moveTo(ui, clock, row + 1)} />
      <output class="number steps" data-testid="when" title={words}>
        {words}
      </output>
      <div class="track">
        <svg class="bad-steps" viewBox={`0 0 ${MOST_MARKS} 1`} preserveAspectRatio="none" aria-hidden="true">
          <path d={badSteps(run, clock)} />
        </svg>
        <input
          type="range"
          data-testid="step"
          min={0}
          max={last}
          value={Math.max(0, row)}
          aria-label="Step"
          title="Choose the step that all views show"
          aria-valuetext={words}
          onInput={(event) => moveTo(ui, clock, event.currentTarget.valueAsNumber)}
        />
      </div>
      <Live ui={ui} />
    </div>
  );
}

/** Returns a path with a mark for each step at which a watched or printed value was not finite. */
function badSteps(run: RunStore, clock: Clock): string {
  const all = [run.watched.bad, run.series.bad].filter(({ length }) => length > 0);
  const bins = all.length > 0 ? Math.min(clock.length, MOST_MARKS) : 0;
  let path = "";
  for (let bin = 0; bin < bins; bin++) {
    const [from, to] = [bin, bin + 1].map((one) => Math.floor((one * clock.length) / bins)) as [number, number];
    const begin = clock.begin(from);
    const end = to < clock.length ? clock.begin(to) : Number.POSITIVE_INFINITY;
    if (all.some((bad) => bad.lowerBound(begin) < bad.lowerBound(end)))
      path += `M${markAt(from, clock.length)} 0h1v1h-1z`;
  }
  return path;
}

/**
 * Returns the position of a mark below the middle of the slider's thumb: the first row is at one end, the last row at
 * the other.
 */
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
      title="Back to the newest step (l)"
      onClick={() => {
        ui.moment.value = null;
      }}
    >
      live ▸
    </button>
  );
}
