/** Throttles drawing: the first change is drawn at once, further changes at most once in an interval. */
import { effect } from "@preact/signals";
import { useLayoutEffect, useState } from "preact/hooks";

/** Returns a number that changes at most once in `ms` milliseconds, when a signal that `watch` reads changes. */
export function useSlowly(watch: () => void, ms: number): number {
  const [at, setAt] = useState(0);
  // A layout effect, because a request that is made during rendering may be answered at once.
  useLayoutEffect(() => {
    let drawn = Number.NEGATIVE_INFINITY;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      timer = undefined;
      drawn = performance.now();
      setAt((before) => before + 1);
    };
    let isFirst = true;
    const stop = effect(() => {
      watch();
      if (isFirst) isFirst = false;
      else if (timer === undefined) {
        const wait = drawn + ms - performance.now();
        if (wait <= 0) draw();
        else timer = setTimeout(draw, wait);
      }
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [watch, ms]);
  return at;
}
