/** Observes the size of an element. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

export function useSize(element: RefObject<HTMLElement>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [target, setTarget] = useState<HTMLElement | null>(null);
  // A view may render its element later, or replace it.
  useLayoutEffect(() => setTarget(element.current));
  useEffect(() => {
    if (!target) return;
    const measure = () => setSize({ width: target.clientWidth, height: target.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    measure();
    return () => observer.disconnect();
  }, [target]);
  return size;
}

/** Returns the cleared context of `canvas`, with the CSS pixel as its unit. */
export function clearCanvas(canvas: HTMLCanvasElement | null, width: number, height: number) {
  const context = canvas?.getContext("2d");
  if (!canvas || !context || width === 0) return null;
  const scale = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  // Setting a size, even the same one, makes the browser lay out the page again.
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.globalAlpha = 1;
  context.clearRect(0, 0, width, height);
  return context;
}
