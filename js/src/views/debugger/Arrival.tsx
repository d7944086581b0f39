/**
 * What happens when the program stops: the Code view opens, gets the focus if that interrupts nobody, and a screen
 * reader announces the stop.
 */
import { useLayoutEffect, useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { later } from "../later/load";

interface Props {
  run: RunStore;
  ui: UiState;
  root: { current: HTMLElement | null };
}

export function Arrival({ run, ui, root }: Props) {
  run.watch();
  const { stop } = run.debugger;
  const [arrived, setArrived] = useState<number>();
  useLayoutEffect(() => {
    if (!stop || stop.id === ui.stop.value) return;
    ui.stop.value = stop.id;
    ui.tab.value = "source";
    setArrived(stop.id);
  }, [stop?.id]);
  const shown = later.views !== null;
  useLayoutEffect(() => {
    if (!shown || arrived === undefined || arrived !== stop?.id) return;
    // The element exists only after the view was drawn.
    const frame = requestAnimationFrame(() => {
      const view = root.current?.querySelector<HTMLElement>(".debugger");
      if (root.current && view && mayFocus(root.current)) view.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [arrived, shown]);
  const where = stop?.frames[0]?.where;
  return (
    <span class="unseen" role="alert" data-testid="arrival">
      {stop && `Stopped${where ? ` at ${where}` : ""}: ${stop.reason}`}
    </span>
  );
}

/**
 * Whether moving the focus interrupts nobody: nothing has the focus, or the cell that contains the panel has it. A text
 * field in the panel keeps it.
 */
function mayFocus(panel: HTMLElement): boolean {
  const { host } = panel.getRootNode() as ShadowRoot;
  const focused = host?.ownerDocument.activeElement;
  if (!focused || focused === document.body) return true;
  if (focused === host) return !(panel.getRootNode() as ShadowRoot).activeElement?.matches("input, textarea, select");
  return focused.matches(".jp-Cell") && focused.contains(host);
}
