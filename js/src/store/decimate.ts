/**
 * Reduces a line to fewer points that look the same: its ends, and the lowest and the highest point of each chunk, in
 * their order.
 */

/** Returns the indices of at most `limit` points. Points for which `keep` is false are left out. */
export function decimate(y: Float64Array, limit: number, keep: (y: number) => boolean = Number.isFinite): number[] {
  const stretch = Math.max(1, Math.ceil((2 * y.length) / (limit - 2)));
  const positions: number[] = [];
  const add = (position: number) => {
    if (positions.at(-1) !== position) positions.push(position);
  };
  let last = -1;
  for (let start = 0; start < y.length; start += stretch) {
    const end = Math.min(start + stretch, y.length);
    let low = -1;
    let high = -1;
    for (let i = start; i < end; i++) {
      const value = y[i] as number;
      if (!keep(value)) continue;
      if (last < 0) add(i);
      last = i;
      if (low < 0 || value < (y[low] as number)) low = i;
      if (high < 0 || value > (y[high] as number)) high = i;
    }
    if (low < 0) continue;
    add(Math.min(low, high));
    add(Math.max(low, high));
  }
  if (last >= 0) add(last);
  return positions;
}
