/** The visible range of the timeline: moving and zooming it. */

export interface Stretch {
  from: number;
  to: number;
}

const SHORTEST_S = 1e-6;
const ROOM = 1.15;
/** A share of the width. A bar that adds less is not drawn. */
const THINNEST = 1 / 300;

/** Returns the end of the axis for an active run. It changes rarely, so that the bars do not move all the time. */
export function roomy(now: number): number {
  return ROOM ** Math.ceil(Math.log(now * 1.02) / Math.log(ROOM));
}

/**
 * Returns the visible spans in order of time. A very short span that ends hardly later than the spans before it in its
 * row is left out, unless `always` is true for it.
 */
export function distinct<Span extends Stretch & { row?: number }>(
  spans: readonly Span[],
  seen: Stretch,
  always: (span: Span) => boolean = () => false,
): Span[] {
  const least = (seen.to - seen.from) * THINNEST;
  const ends: number[] = [];
  return spans.filter((span) => {
    const { from, to, row = 0 } = span;
    if (to < seen.from || from > seen.to) return false;
    const end = ends[row] ?? Number.NEGATIVE_INFINITY;
    if (to - from < least && to - end < least) return always(span);
    ends[row] = Math.max(end, to);
    return true;
  });
}

/** Zooms: a `factor` below 1 shows less. The time at `share` of the width stays where it is. */
export function zoomed({ from, to }: Stretch, factor: number, share: number): Stretch {
  const length = Math.max(SHORTEST_S, (to - from) * factor);
  const start = from + (to - from - length) * share;
  return { from: start, to: start + length };
}

export function moved({ from, to }: Stretch, share: number): Stretch {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}

/** Moves a range into `whole`, and shortens it if it does not fit. */
export function within({ from, to }: Stretch, whole: Stretch): Stretch {
  const length = Math.min(to - from, whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - length);
  return { from: start, to: start + length };
}
