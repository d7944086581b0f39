/** The rows of a file; only visible rows are rendered. It shows the facts of the expression under the pointer. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Moved } from "../../kit/moved";
import { useScrolled } from "../../kit/scrolled";
import { useSize } from "../../kit/size";
import { scrollTo, sliceAt } from "../../kit/virtual";
import { moveBy } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { SiteMessage, SourceName } from "../../transport/wire";
import { toggleWatch } from "../inspector/Inspector";
import { choicesOf, wordFor } from "../names/statistic";
import { Facts } from "./Facts";
import { nameOf, toggleBreakpoint } from "./gutter";
import { Line } from "./Line";
import { factsOf, type LookAtStop, seen } from "./reading";
import type { Row, Value } from "./rows";
import { addAll } from "./Unseen";

const ROW_HEIGHT = 22;
const STEPS: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1, PageUp: -15, PageDown: 15 };
const MOVES: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };
const NONE: readonly Value[] = [];
const NOTHING: readonly SourceName[] = [];
const NO_PRINT: readonly SiteMessage[] = [];

/** The lines to show below the one at which the program is stopped. */
const NEXT_LINES = 3;

interface Props {
  run: RunStore;
  ui: UiState;
  file: string;
  rows: readonly Row[];
  values: readonly Value[];
  look: LookAtStop;
  /** The number of the newest event, for rows that show the newest value. */
  newest: number;
  over: ReadonlyMap<number, Value[]>;
  /** The prints and callbacks of each line. */
  prints: ReadonlyMap<number, readonly SiteMessage[]>;
  names: readonly SourceName[];
  /** The line at which the program is stopped; null if it is in no line of this file. */
  now: number | null;
  /** For each line of the frame, the variables that it has assigned, as text. */
  assigned: ReadonlyMap<number, string> | undefined;
  /** Whether the program is stopped and can run to a line. */
  stepping: boolean;
  isOpen: (line: number) => boolean;
  open: (line: number) => void;
}

export function CodeList(props: Props) {
  const { run, ui, file, rows, values, look, newest, over, prints, names, now, assigned, stepping, isOpen, open } =
    props;
  run.watch();
  const viewport = useRef<HTMLElement>(null);
  const { height } = useSize(viewport);
  const { top, setTop, stay } = useScrolled(viewport, height);
  const [hover, setHover] = useState<Value | null>(null);
  const slice = sliceAt(rows.length, ROW_HEIGHT, height, top);
  const place = ui.place.value?.file === file ? ui.place.value : null;
  const first = rows.findIndex(({ value, code }) => value !== null || prints.has(code.line));
  const current = place ? indexOf(rows, place.line, place.index) : -1;
  const brought = useRef({ place, to: 0 });

  // If no line is selected, the list starts at the first line with a value. If the user has scrolled since, it stays
  // there.
  useLayoutEffect(() => {
    const isLeft = Math.abs(top - brought.current.to) > 1;
    if (place === brought.current.place && isLeft) return;
    reveal(current < 0 ? first : current, current < 0);
    brought.current = { place, to: viewport.current?.scrollTop ?? 0 };
  }, [place, height, first < 0]);

  const reveal = (index: number, atTop = false) => {
    const element = viewport.current;
    const [seenFrom, seenTo] = [Math.ceil(top / ROW_HEIGHT), Math.floor((top + height) / ROW_HEIGHT)];
    // Below the line at which the program is stopped, the next lines are seen, too.
    const below = now === null ? 0 : Math.min(NEXT_LINES, Math.floor((seenTo - seenFrom) / 2));
    if (!element || height === 0 || index < 0 || (index >= seenFrom && index < seenTo - below)) return;
    const wanted = atTop ? Math.max(0, index - 2) * ROW_HEIGHT : scrollTo(index, rows.length, ROW_HEIGHT, height);
    element.scrollTop = wanted;
    setTop(element.scrollTop);
  };
  const go = (index: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (row) ui.place.value = { file, line: row.code.line, index: row.index };
  };
  const choose = (value: Value | null) => {
    if (value) ui.value.value = value.site.id;
  };
  const inspect = (row: Row) => {
    const [print] = row.value ? [] : (prints.get(row.code.line) ?? []);
    if (print) ui.value.value = print.id;
    else choose(row.value);
  };
  const runTo = (line: number) => run.debugger.resume("line", line);
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[current];
    const keys: Record<string, () => void> = {
      Enter: () => (stepping && row ? runTo(row.code.line) : row && inspect(row)),
      " ": () => row && open(row.code.line),
      t: () => nextStatistic(run, ui),
      F9: () => row && toggleBreakpoint(run, nameOf(run, file, row.code.line)),
      w: () => row && (row.value ? toggleWatch(run, row.value.site) : addAll(run, unseen(names, row))),
    };
    const step = STEPS[event.key];
    if (event.shiftKey && step) go(nextWithValue(rows, current, step));
    else if (step) go(current < 0 ? first : current + step);
    else if (event.shiftKey && MOVES[event.key]) shift(60 * (MOVES[event.key] as number));
    else if (MOVES[event.key]) moveBy(run, ui, look, MOVES[event.key] as number);
    else if (keys[event.key]) keys[event.key]?.();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  /** Scrolls all long lines horizontally. */
  const shift = (by: number) => {
    for (const code of viewport.current?.querySelectorAll("code") ?? []) code.scrollLeft += by;
  };
  const pointed = (event: Event): Value | undefined => {
    const id = Number((event.target as HTMLElement).closest<HTMLElement>("[data-value]")?.dataset.value);
    return values.find(({ site }) => site.id === id);
  };
  const drawn = rows.slice(slice.first, slice.end);
  const row = rows[current];
  return (
    <div class="code-list" style={{ "--digits": String(rows.at(-1)?.code.line ?? 0).length, "--rows": rows.length }}>
      {values.length > 0 && <Heading statistic={wordFor(ui.statistic.value)} />}
      <div class="code-room">
        <section
          class="viewport"
          ref={viewport}
          aria-label="Source: up and down choose a line, Enter inspects its value"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region is reached by the keyboard
          tabIndex={0}
          data-testid="code"
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
          onKeyDown={onKeyDown}
          onWheel={(event) => shift(event.shiftKey ? event.deltaY : event.deltaX)}
          onPointerOver={(event) => setHover(pointed(event) ?? null)}
          onPointerLeave={() => setHover(null)}
        >
          <Moved moved={stay} />
          <div class="all-rows" style={{ height: `${slice.height}px` }}>
            <div class="drawn-rows" style={{ transform: `translateY(${slice.offset}px)` }}>
              {drawn.map((one, i) => (
                <Line
                  key={slice.first + i}
                  run={run}
                  row={one}
                  found={one.value && seen(run, one.value, look)}
                  over={over.get(one.code.line) ?? NONE}
                  statistic={ui.statistic.value}
                  isLive={ui.moment.value === null}
                  newest={newest}
                  isCurrent={slice.first + i === current}
                  isNow={one.code.line === now && one.index === 0}
                  assigned={one.index === 0 ? assigned?.get(one.code.line) : undefined}
                  runTo={stepping ? runTo : null}
                  place={nameOf(run, file, one.code.line)}
                  unseen={unseen(names, one)}
                  prints={one.index === 0 ? (prints.get(one.code.line) ?? NO_PRINT) : NO_PRINT}
                  choose={(event) => {
                    go(slice.first + i);
                    const value = pointed(event);
                    if (value) choose(value);
                    else inspect(one);
                  }}
                  open={() => open(one.code.line)}
                  isOpen={isOpen(one.code.line)}
                />
              ))}
            </div>
          </div>
        </section>
        {hover && (
          <div class="hover-card" role="tooltip">
            <Facts value={hover} found={seen(run, hover, look)} />
          </div>
        )}
      </div>
      <output class="unseen" aria-live="polite">
        {row && `Line ${row.code.line}: ${row.code.text.trim()}. `}
        {row?.value && ui.moment.value !== null && factsOf(row.value, seen(run, row.value, look)).join(", ")}
      </output>
    </div>
  );
}

function Heading({ statistic }: { statistic: string }) {
  return (
    <div class="source-row source-heading muted">
      <span title="The stripe: blue where elements are far below 1, red where far above or not finite">line</span>
      <span />
      <span class="value">
        <span class="value-name">value</span>
        <span class="value-type">type</span>
        <span class="value-range">min … max</span>
        <span class="value-mean">{statistic}</span>
        <span class="spark" title={`${statistic} over steps`}>
          steps
        </span>
        <span class="value-gradient" title="The gradient's norm, and how many times the value's norm that is">
          ‖grad‖
        </span>
      </span>
    </div>
  );
}

function nextStatistic(run: RunStore, ui: UiState): void {
  const choices = choicesOf(run, ui.statistic.value);
  const at = choices.indexOf(ui.statistic.value);
  ui.statistic.value = choices[(at + 1) % choices.length] as string;
}

function indexOf(rows: readonly Row[], line: number, index: number): number {
  const exact = rows.findIndex(({ code, index: i }) => code.line === line && i === index);
  return exact >= 0 ? exact : rows.findIndex(({ code }) => code.line >= line);
}

function nextWithValue(rows: readonly Row[], from: number, step: number): number {
  const by = Math.sign(step);
  for (let i = from + by; i >= 0 && i < rows.length; i += by) if (rows[i]?.value) return i;
  return from;
}

/**
 * Returns the names of a row without a value that explain why, or can be watched: its leaf, or the names of the line
 * that are not leaves.
 */
function unseen(names: readonly SourceName[], { value, leaf, code }: Row): readonly SourceName[] {
  if (value) return NOTHING;
  return leaf ? [leaf] : names.filter((one) => one.line === code.line && one.why && !one.root);
}
