/**
 * A place where a run's panel stands. It is an output like those under the cells: what a widget model has put on the page
 * (`js/src/entry/registry.ts`) finds it and brings it to life, so that no second copy of the panel is loaded.
 */
import { computed, effect, type ReadonlySignal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { RUN_ATTRIBUTE } from "../../src/entry/registry";
import type { KernelLink } from "./link";

/** The kernel that knows a run; what it reads are signals. */
export type FindLink = (runKey: string) => KernelLink | undefined;

/** Makes the output in `host`; returns what takes it away again. */
export function openRun(host: HTMLElement, key: string, findLink: FindLink): () => void {
  const link = computed(() => findLink(key));
  const output = document.createElement("div");
  const placeholder = document.createElement("div");
  output.className = "jaxdebug-Output";
  output.setAttribute(RUN_ATTRIBUTE, key);
  output.append(placeholder);
  render(<Placeholder link={link} />, placeholder);
  host.append(output);
  const stop = effect(() => link.value?.request({ type: "open", run: key }));
  return () => {
    stop();
    render(null, placeholder);
    output.remove();
  };
}

/** The same as a component. */
export function RunOutput({ runKey, link }: { runKey: string; link: KernelLink }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => (host.current ? openRun(host.current, runKey, () => link) : undefined), [runKey, link]);
  return <div ref={host} class="jaxdebug-OutputHost" />;
}

/** Shown until the panel is there. */
function Placeholder({ link }: { link: ReadonlySignal<KernelLink | undefined> }) {
  return (
    <p class="jaxdebug-Empty" role="status">
      {link.value
        ? "The panel is loading. If the page was loaded while a cell runs, the panel may appear only after that cell has ended; Kernel → Interrupt ends it."
        : "No open notebook's kernel knows this run. Open its notebook, or run its cell again."}
    </p>
  );
}
