/**
 * Computes which rows of a long list to draw. Browsers limit the height of an element, so scrolling is scaled in a very
 * long list.
 */

const TALLEST = 8_000_000;
/** Rows that are drawn above and below the visible ones, for fast scrolling. */
export const SPARE_ROWS = 6;

export interface Slice {
  /** The height of the whole list, in pixels. */
  height: number;
  first: number;
  /** The index after the last row. */
  end: number;
  /** The position of row `first`, in pixels from the top of the list. */
  offset: number;
}

export function sliceAt(count: number, rowHeight: number, viewHeight: number, scrollTop: number): Slice {
  const full = count * rowHeight;
  const height = Math.min(full, TALLEST);
  const most = Math.max(0, height - viewHeight);
  const top = Math.min(Math.max(0, scrollTop), most);
  const scaled = most > 0 ? (top / most) * (full - viewHeight) : 0;
  const first = Math.max(0, Math.floor(scaled / rowHeight) - SPARE_ROWS);
  const end = Math.min(count, Math.ceil((scaled + viewHeight) / rowHeight) + SPARE_ROWS);
  return { height, first, end, offset: top + first * rowHeight - scaled };
}

/** Returns the scroll position that brings `row` to the middle. */
export function scrollTo(row: number, count: number, rowHeight: number, viewHeight: number): number {
  const full = count * rowHeight;
  const most = Math.min(full, TALLEST) - viewHeight;
  const wanted = row * rowHeight - (viewHeight - rowHeight) / 2;
  return full > viewHeight ? Math.min(most, Math.max(0, (wanted / (full - viewHeight)) * most)) : 0;
}
