/**
 * Keeps the scroll position of a list when it is moved on the page or hidden for a while. The browser would forget it.
 */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export function useScrolled(viewport: RefObject<HTMLElement>, height: number) {
  const [top, setTop] = useState(0);
  const stay = () => {
    if (viewport.current) viewport.current.scrollTop = top;
  };
  // A hidden list cannot be scrolled, so its position is restored when it has a height again.
  useLayoutEffect(stay, [height]);
  return { top, setTop, stay };
}
