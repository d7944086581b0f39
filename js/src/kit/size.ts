/** How large an element is, as it changes. */
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

export function useSize(element: RefObject<HTMLElement>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    const measure = () => setSize({ width: target.clientWidth, height: target.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    measure();
    return () => observer.disconnect();
  }, [element]);
  return size;
}

/** The context of `canvas`, cleared, that draws in pixels of the page. */
export function clearCanvas(canvas: HTMLCanvasElement | null, width: number, height: number) {
  const context = canvas?.getContext("2d");
  if (!canvas || !context || width === 0) return null;
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  context.scale(scale, scale);
  return context;
}
