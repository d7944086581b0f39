/** The lines around the current one, with the values that the lines before it have assigned. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { highlighted, type Span } from "../../kit/python";
import type { RunStore } from "../../store/run";
import type { FrameMessage } from "../../transport/stops";
import { assigned } from "./assigned";

const MOVES: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1 };

interface Props {
  run: RunStore;
  frame: FrameMessage;
  /** A line may be run to. */
  stepping: boolean;
}

export function Source({ run, frame, stepping }: Props) {
  const box = useRef<HTMLElement>(null);
  const { where, source, line: current, first_line: first } = frame;
  const spans = useMemo(() => highlighted(source), [source]);
  const values = useMemo(() => assigned(frame), [frame]);
  useLayoutEffect(() => {
    const [room, line] = [box.current, box.current?.querySelector<HTMLElement>(".now")];
    // Not `scrollIntoView`: it would move the notebook too.
    if (room && line) room.scrollTop = line.offsetTop - room.offsetTop - (room.clientHeight - line.offsetHeight) / 2;
  }, [source, current]);
  const onKeyDown = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    if (!stepping || !move) return;
    event.preventDefault();
    const lines = [...(box.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const at = lines.findIndex((line) => line.matches(":focus"));
    lines[at < 0 ? current - first : at + move]?.focus();
  };
  return (
    <section
      class="code mono"
      data-testid="source"
      ref={box}
      aria-label={`Source, ${where}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled, and lines chosen, by the keyboard
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      {source.map((text, i) => {
        const number = first + i;
        const isNow = number === current;
        return (
          <div key={number} class={isNow ? "code-line now" : "code-line"} aria-current={isNow ? "step" : undefined}>
            {stepping ? (
              <button
                type="button"
                class="gutter"
                tabIndex={-1}
                title="Run to this line"
                aria-label={`Run to line ${number}: ${text.trim()}`}
                onClick={() => run.debugger.resume("line", number)}
              >
                {number}
              </button>
            ) : (
              <span class="gutter">{number}</span>
            )}
            <code>
              <Code spans={spans[i] ?? []} />
            </code>
            {values.get(number) && <span class="assigned muted">{values.get(number)}</span>}
          </div>
        );
      })}
    </section>
  );
}

function Code({ spans }: { spans: readonly Span[] }) {
  return spans.map(([kind, text], i) => (
    <span key={i} class={kind}>
      {text}
    </span>
  ));
}
