/** Moves and zooms the timeline by wheel, dragging and keys. */
import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { moved, type Stretch, within, zoomed } from "./axis";

const STEPS: Readonly<Record<string, (stretch: Stretch) => Stretch>> = {
  ArrowLeft: (stretch) => moved(stretch, -0.2),
  ArrowRight: (stretch) => moved(stretch, 0.2),
  "+": (stretch) => zoomed(stretch, 0.6, 0.5),
  "=": (stretch) => zoomed(stretch, 0.6, 0.5),
  "-": (stretch) => zoomed(stretch, 1 / 0.6, 0.5),
};
/** The distance of the wheel that zooms by a factor of e, in pixels. */
const WHEEL = 300;

/** Returns the visible range of `whole`, which is all of it at first, and the listeners that change it. */
export function useNavigation(whole: Stretch, section: RefObject<HTMLElement>) {
  const [chosen, choose] = useState<Stretch | null>(null);
  const dragged = useRef<number | null>(null);
  const seen = chosen ? within(chosen, whole) : whole;
  const see = (next: Stretch) => choose(next.to - next.from >= whole.to - whole.from ? null : within(next, whole));

  const onWheel = (event: WheelEvent) => {
    // Without a modifier key the notebook scrolls, unless the timeline has the focus.
    const inUse = section.current?.matches(":focus-within");
    if (!inUse && !event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (isSideways) see(moved(seen, (event.deltaX || event.deltaY) / width));
    else see(zoomed(seen, Math.exp(event.deltaY / WHEEL), (event.clientX - left) / width));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (event.key === "0") choose(null);
    else if (step) see(step(seen));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointerDown = (event: PointerEvent) => {
    dragged.current = event.clientX;
  };
  const onPointerMove = (event: PointerEvent) => {
    if (dragged.current === null || event.buttons !== 1) return;
    see(moved(seen, (dragged.current - event.clientX) / (event.currentTarget as HTMLElement).clientWidth));
    dragged.current = event.clientX;
  };
  const onDblClick = () => choose(null);
  return { seen, see, onKeyDown, field: { onWheel, onPointerDown, onPointerMove, onDblClick } };
}
