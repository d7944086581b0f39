/**
 * Reduces a line to fewer points that look the same: the lowest and the highest point of each chunk, in their order.
 */

/** Returns the indices of at most about `limit` points. Points for which `keep` is false are left out. */
export function decimate(y: Float64Array, limit: number, keep: (y: number) => boolean = Number.isFinite): number[] {
  const stretch = Math.max(1, Math.ceil((2 * y.length) / limit));
  const positions: number[] = [];
  for (let start = 0; start < y.length; start += stretch) {
    const end = Math.min(start + stretch, y.length);
    let low = -1;
    let high = -1;
    for (let i = start; i < end; i++) {
      const value = y[i] as number;
      if (!keep(value)) continue;
      if (low < 0 || value < (y[low] as number)) low = i;
      if (high < 0 || value > (y[high] as number)) high = i;
    }
    if (low < 0) continue;
    positions.push(Math.min(low, high));
    if (low !== high) positions.push(Math.max(low, high));
  }
  return positions;
}
