/** What need not follow each event: it is drawn at once, and then at most so often. */
import { effect } from "@preact/signals";
import { useLayoutEffect, useState } from "preact/hooks";

/** Changes when `watch`, which reads signals, sees a change, at most once in `ms`. */
export function useSlowly(watch: () => void, ms: number): number {
  const [at, setAt] = useState(0);
  // What is asked for while drawing may be answered at once.
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
