/** A stretch of time on the screen: what is seen of the run, moved and zoomed. */

export interface Stretch {
  from: number;
  to: number;
}

const SHORTEST_S = 1e-6;
const ROOM = 1.15;
/** Of the width: bars that add less are not drawn. */
const THINNEST = 1 / 300;

/** An end of the axis for a run that goes on: it stays for a while, so that what was drawn stays where it is. */
export function roomy(now: number): number {
  return ROOM ** Math.ceil(Math.log(now * 1.02) / Math.log(ROOM));
}

/** Of spans by time, those that are seen and no less than a line beyond the one before in their row; `always` those that must not be missed. */
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

/** `factor` < 1 shows less; the time at `share` of the width stays where it is. */
export function zoomed({ from, to }: Stretch, factor: number, share: number): Stretch {
  const length = Math.max(SHORTEST_S, (to - from) * factor);
  const start = from + (to - from - length) * share;
  return { from: start, to: start + length };
}

export function moved({ from, to }: Stretch, share: number): Stretch {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}

/** The stretch within `whole`, as long as it was where that fits. */
export function within({ from, to }: Stretch, whole: Stretch): Stretch {
  const length = Math.min(to - from, whole.to - whole.from);
  const start = Math.min(Math.max(from, whole.from), whole.to - length);
  return { from: start, to: start + length };
}
