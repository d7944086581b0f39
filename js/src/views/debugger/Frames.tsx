/** The frames of the user's code, the innermost first. */
import type { RunStore } from "../../store/run";
import type { StopBody } from "../../transport/stops";

interface Props {
  run: RunStore;
  stop: StopBody;
  stands: boolean;
}

export function Frames({ run, stop: { frames, frame: shown }, stands }: Props) {
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
    <>
      <h4>
        Frames <span class="grow" />
        {mover("u", "Frame above", shown + 1)}
        {mover("d", "Frame below", shown - 1)}
      </h4>
      <div data-testid="frames">
        {frames.map((frame) => (
          <button
            type="button"
            key={frame.index}
            class="debugger-row"
            aria-pressed={frame.index === shown}
            title={frame.file}
            disabled={!stands}
            onClick={() => run.debugger.selectFrame(frame.index)}
          >
            <span class="mono">{frame.function}</span>
            <small class="muted">{frame.where}</small>
          </button>
        ))}
      </div>
    </>
  );
}
