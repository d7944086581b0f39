/** Which rows of a long list to draw. Browsers cap the height of an element, so beyond a limit scrolling is scaled. */

const TALLEST = 8_000_000;
/** Drawn above and below what is seen, for scrolling that is ahead of us. */
export const SPARE_ROWS = 6;

export interface Slice {
  /** Of the whole list, in pixels. */
  height: number;
  first: number;
  /** One past the last row. */
  end: number;
  /** Where row `first` stands, in pixels from the top of the list. */
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

/** The scroll position that brings row `row` to the middle. */
export function scrollTo(row: number, count: number, rowHeight: number, viewHeight: number): number {
  const full = count * rowHeight;
  const most = Math.min(full, TALLEST) - viewHeight;
  const wanted = row * rowHeight - (viewHeight - rowHeight) / 2;
  return full > viewHeight ? Math.min(most, Math.max(0, (wanted / (full - viewHeight)) * most)) : 0;
}
