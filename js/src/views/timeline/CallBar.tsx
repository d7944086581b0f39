/** A call as a bar that is divided into its stages. */
import { seconds } from "../../kit/format";
import { callStateWords, wasEnded } from "../../kit/states";
import type { Bar, Span } from "../../store/spans";
import { NAMES } from "./Totals";

export const CALL_ROW = 22;
/** A narrower bar has no name, and only one of its parts is visible. */
const NARROW = 0.015;

interface Props {
  bar: Bar;
  chosen: boolean;
  /** Its share of the visible width. */
  share: number;
  percent: (time: number) => string;
  choose: (bar: Bar) => void;
  zoomTo: (bar: Bar) => void;
}

export function CallBar({ bar, chosen, share, percent, choose, zoomTo }: Props) {
  const { call, spans } = bar;
  const words = spans.map(({ stage, from, to }) => `${NAMES[stage] ?? stage} ${seconds(to - from)}`).join(", ");
  const length = bar.to - bar.from || 1;
  const [left, right] = [percent(bar.from), percent(bar.to)];
  return (
    <button
      type="button"
      class="call-bar"
      data-call={call.id}
      aria-pressed={chosen}
      aria-label={`call ${call.id} ${call.name}: ${words || callStateWords(call.state)}`}
      title={`${call.name}\n${words}${call.error && `\n${call.error}`}\ndouble-click or z: zoom to it`}
      style={{ left, width: `calc(${right} - ${left})`, top: `${bar.row * CALL_ROW}px` }}
      onClick={() => choose(bar)}
      onDblClick={(event) => {
        event.stopPropagation();
        zoomTo(bar);
      }}
      onKeyDown={(event) => {
        if (event.key !== "z") return;
        event.stopPropagation();
        zoomTo(bar);
      }}
    >
      {(share > NARROW ? spans : longest(spans)).map(({ stage, from, to }) => (
        <span
          key={stage}
          class={`span ${stage}${call.error && stage === "flight" ? (wasEnded(call.state) ? " ended" : " bad") : ""}`}
          style={{ left: `${(100 * (from - bar.from)) / length}%`, width: `${(100 * (to - from)) / length}%` }}
        />
      ))}
      {share > NARROW && <span class="call-name mono">{call.name}</span>}
    </button>
  );
}

function longest(spans: readonly Span[]): Span[] {
  return [...spans].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, 1);
}
