/** How far a list is scrolled; kept where the browser forgets it: when the list is moved on the page, or hidden for a while. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export function useScrolled(viewport: RefObject<HTMLElement>, height: number) {
  const [top, setTop] = useState(0);
  const stay = () => {
    if (viewport.current) viewport.current.scrollTop = top;
  };
  // A hidden list cannot be scrolled: it is put where it was when it has a height again.
  useLayoutEffect(stay, [height]);
  return { top, setTop, stay };
}
