/** The variables of the frame: type, device, value, statistics. A selected array is shown as a picture. */
import { count, value } from "../../kit/format";
import { atStop } from "../../store/atStop";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { ArrayStatistics, LocalMessage, StopBody } from "../../transport/stops";
import { typeName } from "../arrays/values";
import { LocalArray } from "./LocalArray";

interface Props {
  run: RunStore;
  ui: UiState;
  stop: StopBody;
  stands: boolean;
  dark: boolean;
}

export function Locals({ run, ui, stop, stands, dark }: Props) {
  const when = atStop(run, stop)?.when;
  const locals = stop.frames[stop.frame]?.locals ?? [];
  return (
    <div class="debugger-locals" data-testid="locals">
      <h4>Locals{when && <small class="muted number">{when}</small>}</h4>
      {locals.length === 0 && <p class="debugger-row muted">None in this frame.</p>}
      {locals.map((local) => (
        <Local key={local.name} {...{ run, ui, stop, stands, dark, local }} />
      ))}
    </div>
  );
}

function Local({ run, ui, stop, stands, dark, local }: Props & { local: LocalMessage }) {
  const { name, type, text, shape, dtype, device, stats } = local;
  const isArray = shape !== null && shape.length > 0 && (stats?.size ?? 1) > 0;
  const isLong = text.includes("\n") || text.length > 40;
  const open = ui.local.value === name && (isArray || isLong);
  const bad = (stats?.nan ?? 0) + (stats?.inf ?? 0) > 0;
  return (
    <div data-local={name}>
      <button
        type="button"
        class="debugger-row"
        disabled={!isArray && !isLong}
        title={isArray || isLong ? `Show ${name} whole` : name}
        aria-expanded={isArray || isLong ? open : undefined}
        onClick={() => {
          ui.local.value = open ? "" : name;
        }}
      >
        <b class="mono">{name}</b>
        <span class={bad ? "bad-text mono" : "muted mono"}>
          {shape && dtype ? typeName(dtype, shape) : type}
          {device && ` · ${device}`}
        </span>
        <span class="mono value">{open && !isArray ? "" : text}</span>
        {stats && stats.size > 1 && <small class={bad ? "bad-text" : "muted"}>{statistics(stats)}</small>}
      </button>
      {open && (
        <div class="local-shown">
          {isArray ? (
            <LocalArray
              run={run}
              stop={stop}
              stands={stands}
              dark={dark}
              name={name}
              shape={shape}
              dtype={dtype ?? ""}
            />
          ) : (
            <pre>{text}</pre>
          )}
        </div>
      )}
    </div>
  );
}

function statistics({ min, max, mean, nan, inf }: ArrayStatistics): string {
  return [
    min !== null && max !== null && `${value(min)} … ${value(max)}`,
    mean !== null && `mean ${value(mean)}`,
    nan > 0 && `${count(nan)} nan`,
    inf > 0 && `${count(inf)} infinite`,
  ]
    .filter(Boolean)
    .join(" · ");
}
