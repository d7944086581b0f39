/** A stretch of time on the screen: what is seen of the run, moved and zoomed. */

export interface Stretch {
  from: number;
  to: number;
}

const SHORTEST_S = 1e-6;

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
