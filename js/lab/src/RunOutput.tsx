/**
 * A place for the panel of a run. It is an output like those under cells: the registry of the widget model
 * (`js/src/entry/registry.ts`) finds it and makes it live, so that no second copy of the panel is loaded.
 */
import { computed, effect, type ReadonlySignal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { RUN_ATTRIBUTE } from "../../src/entry/registry";
import type { KernelLink } from "./link";

/** Finds the kernel that knows a run. It reads signals. */
export type FindLink = (runKey: string) => KernelLink | undefined;

/** Adds an output to `host`. Returns a function that removes it. */
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

/** `openRun` as a component. */
export function RunOutput({ runKey, link }: { runKey: string; link: KernelLink }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => (host.current ? openRun(host.current, runKey, () => link) : undefined), [runKey, link]);
  return <div ref={host} class="jaxdebug-OutputHost" />;
}

/** Shown until the panel has loaded. */
function Placeholder({ link }: { link: ReadonlySignal<KernelLink | undefined> }) {
  return (
    <p class="jaxdebug-Empty" role="status">
      {link.value
        ? "The panel is loading. If the page was loaded while a cell runs, the panel may appear only after that cell has ended; Kernel → Interrupt ends it."
        : "No open notebook's kernel knows this run. Open its notebook, or run its cell again."}
    </p>
  );
}
