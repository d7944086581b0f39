/** The frames of the user's code in one row, innermost first. */
import { shortFunction } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { StopBody } from "../../transport/stops";

interface Props {
  run: RunStore;
  stop: StopBody;
  stands: boolean;
}

export function Frames({ run, stop: { frames, frame: shown }, stands }: Props) {
  if (frames.length === 0) return null;
  const mover = (key: string, name: string, to: number) => (
    <button
      type="button"
      class="mini"
      data-frame-key={key}
      aria-label={name}
      aria-keyshortcuts={key}
      title={`${name} (${key})`}
      disabled={!stands || !frames[to]}
      onClick={() => run.debugger.selectFrame(to)}
    >
      {key === "u" ? "↑" : "↓"}
    </button>
  );
  return (
    <div class="frames">
      <div class="frames-row" data-testid="frames">
        {frames.map((frame) => (
          <button
            type="button"
            key={frame.index}
            class="frame"
            aria-pressed={frame.index === shown}
            title={frame.file}
            disabled={!stands}
            onClick={() => run.debugger.selectFrame(frame.index)}
          >
            <span class="mono">{shortFunction(frame.function)}</span> <small class="muted">{frame.where}</small>
          </button>
        ))}
      </div>
      {mover("u", "Frame above", shown + 1)}
      {mover("d", "Frame below", shown - 1)}
    </div>
  );
}
