/** A list of rows of equal height that renders only the visible ones. It stays at its end until the user scrolls up. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "./format";
import { Moved } from "./moved";
import { SPARE_ROWS, scrollTo, sliceAt } from "./virtual";

export const ROW_HEIGHT = 20;
const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

interface Props {
  count: number;
  label: string;
  row: (index: number) => ComponentChildren;
  /** Gets the range of the rendered rows; `end` is exclusive. */
  onDraw: (first: number, end: number) => void;
  /** The index of the row at which the arrow keys start; -1 for none. */
  selected: number;
  /** With `extend`, the selection lasts from the previously selected row to this one. */
  select: (index: number, extend: boolean) => void;
  /** The index of the row to scroll to when `revealKey` changes; -1 for none. */
  reveal: number;
  revealKey: string;
  /** Whether a row or a moment is inspected. Afterwards the list returns to its end, if it was there before. */
  looking: boolean;
  /** Content that is shown below a row; its height is `rows` rows. */
  opened: { below: number; rows: number; content: ComponentChildren } | null;
}

export function VirtualList({
  count,
  label,
  row,
  onDraw,
  selected,
  select,
  reveal,
  revealKey,
  looking,
  opened,
}: Props) {
  const viewport = useRef<HTMLElement>(null);
  const [height, setHeight] = useState(0);
  const [top, setTop] = useState(0);
  const [leftAt, setLeftAt] = useState<number | null>(null);
  const following = leftAt === null;
  const followedTo = useRef(0);
  const broughtTo = useRef(-1);
  const followsAgain = useRef(false);
  const wasHidden = useRef(true);
  const more = opened?.rows ?? 0;
  const below = opened?.below ?? count;
  const total = count + more;
  /**
   * Convert between the index of a row and its place in the list, which counts the opened rows. A place in the opened
   * content belongs to the row above it.
   */
  const placeOf = (index: number) => (index > below ? index + more : index);
  const indexAt = (place: number) => (place > below ? Math.max(below, place - more) : place);
  const slice = sliceAt(total, ROW_HEIGHT, height, following ? Number.MAX_SAFE_INTEGER : top);

  useEffect(() => {
    const element = viewport.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const stay = () => {
    const element = viewport.current;
    if (!element) return;
    element.scrollTop = following ? slice.height : top;
    followedTo.current = element.scrollTop;
  };
  useLayoutEffect(() => {
    if (following) stay();
  });
  useEffect(() => onDraw(indexAt(slice.first), indexAt(slice.end)));
  useLayoutEffect(() => {
    if (looking) followsAgain.current = following;
    else if (followsAgain.current) setLeftAt(null);
  }, [looking]);
  useLayoutEffect(() => {
    if (reveal >= 0) bringIntoView(reveal, wasHidden.current);
    wasHidden.current = height === 0;
  }, [revealKey, height, more]);

  /**
   * Scrolls to a row. With `anew`, also if it is visible: without the list's height its middle was not known before.
   */
  const bringIntoView = (index: number, anew = false) => {
    const element = viewport.current;
    const place = placeOf(index);
    const last = index === below ? place + more : place;
    const inView = place >= slice.first + SPARE_ROWS && last < slice.end - SPARE_ROWS;
    if ((inView && !anew) || !element) return;
    const wanted = scrollTo(Math.round((place + last) / 2), total, ROW_HEIGHT, height);
    element.scrollTop = wanted;
    broughtTo.current = element.scrollTop;
    setTop(wanted);
    setLeftAt((before) => before ?? count);
  };

  const onScroll = () => {
    const element = viewport.current;
    if (!element) return;
    const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - ROW_HEIGHT / 2;
    // If the list becomes lower, it is no longer at its end, although nobody has scrolled.
    const isLower = following && element.scrollTop >= followedTo.current;
    if (Math.abs(element.scrollTop - broughtTo.current) > 1) followsAgain.current = atEnd || isLower;
    if (atEnd || isLower) {
      setLeftAt(null);
    } else {
      setTop(element.scrollTop);
      setLeftAt((before) => before ?? count);
    }
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step || count === 0) return;
    event.preventDefault();
    const next = selected < 0 ? count - 1 : Math.min(count - 1, Math.max(0, selected + step));
    select(next, event.shiftKey);
    bringIntoView(next);
  };

  const rows: ComponentChildren[] = [];
  for (let place = slice.first; place < slice.end; place++) {
    if (place <= below || place > below + more) {
      rows.push(row(indexAt(place)));
      continue;
    }
    const hidden = place - below - 1;
    const end = Math.min(slice.end, below + more + 1);
    rows.push(
      <div key="opened" class="opened" style={{ height: `${(end - place) * ROW_HEIGHT}px` }}>
        <div style={{ height: `${more * ROW_HEIGHT}px`, marginTop: `${-hidden * ROW_HEIGHT}px` }}>
          {opened?.content}
        </div>
      </div>,
    );
    place = end - 1;
  }
  return (
    <div class={opened ? "list opens" : "list"}>
      <section
        class="viewport"
        ref={viewport}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region is reached by the keyboard
        tabIndex={0}
        aria-label={label}
      >
        <Moved moved={stay} />
        <div class="all-rows" style={{ height: `${slice.height}px` }}>
          <div class="drawn-rows" style={{ transform: `translateY(${slice.offset}px)` }}>
            {rows}
          </div>
        </div>
      </section>
      {!following && (
        <button type="button" class="button jump" title="Go to the newest line" onClick={() => setLeftAt(null)}>
          ↓ Latest{count > leftAt ? ` · ${plural(count - leftAt, "new line")}` : ""}
        </button>
      )}
    </div>
  );
}
