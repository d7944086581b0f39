/** Zooms and moves the visible part of the x axis by keys. */
import type { Range } from "./drawn";

const FACTORS: Readonly<Record<string, number>> = { "+": 0.6, "=": 0.6, "-": 1 / 0.6 };
const SHARES: Readonly<Record<string, number>> = { ArrowLeft: -0.2, ArrowRight: 0.2 };

/**
 * Returns the new zoom, null for all of the axis. Returns false if the key does nothing; without a zoom there is
 * nothing to move.
 */
export function stepped(key: string, zoom: Range | null, [from, to]: Range): Range | null | false {
  if (key === "0") return null;
  const factor = FACTORS[key];
  const share = SHARES[key];
  const length = to - from;
  if (factor) {
    const middle = (from + to) / 2;
    return [middle - (factor * length) / 2, middle + (factor * length) / 2];
  }
  if (share && zoom) return [from + share * length, to + share * length];
  return false;
}
