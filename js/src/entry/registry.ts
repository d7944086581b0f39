/**
 * Brings together the outputs of the page and the clients (one per kernel session) that can make them live.
 *
 * An output is static HTML, written by `jax_debug_widgets/widgets/`: a snapshot that reads well without us, and a
 * script that announces it:
 *
 *     <div data-jaxdebug-run="KEY"> …snapshot… </div>
 *     <script>(() => {
 *       const page = (window.__jaxDebug ??= { waiting: [] });
 *       const output = document.currentScript?.previousElementSibling;
 *       if (output) page.attach ? page.attach(output) : page.waiting.push(output);
 *     })()</script>
 *
 * The output shows the snapshot until the first batch of its run is here; then its children are hidden and a live
 * view stands beside them in a shadow root of its own. Outputs come and go as the notebook is scrolled and redrawn:
 * whenever the page changes, what has gone loses its view (and has its snapshot back) and what has come gets one. An output
 * that the kernel writes anew, every some seconds while a run goes on, takes over the view of its predecessor as it stands.
 * marimo writes the next run of a cell into the elements of the run before: the old view goes, the new run gets one.
 *
 * The registry on `window` is the only state outside of the models.
 */
import type { RunStore } from "../store/run";
import { createUi, type UiState } from "../store/ui";
import type { Asked } from "../views/later/load";
import { type LastSeen, lastSeen } from "./last";
import { Place } from "./place";

export const RUN_ATTRIBUTE = "data-jaxdebug-run";
/** Of an output that shows a program, see `magics/program_outputs.py`. */
export const PROGRAM_ATTRIBUTE = "data-jaxdebug-program";
const CHANGES = { childList: true, subtree: true, attributeFilter: [RUN_ATTRIBUTE] };
const FILE_ATTRIBUTE = "data-jaxdebug-file";

/** Serves the runs of one kernel session. */
export interface RunSource {
  /** The run, if anything of it has arrived; asks the kernel for it otherwise. */
  find(key: string): RunStore | undefined;
  /** The run, as far as it is here; asks for nothing. */
  known(key: string): RunStore | undefined;
  /** Whom the views of programs ask. */
  readonly program?: Asked | undefined;
  /** Lets go of a run that can be had from the kernel again. */
  forget(key: string): void;
}

/** So many events are kept of runs that no output shows: what a cell that is run again is compared with. */
const MOST_HIDDEN_EVENTS = 200_000;

export type ShowProgram = (output: HTMLElement, key: string, asked: Asked, done: (remove: () => void) => void) => void;
export type Mount = (host: HTMLElement, run: RunStore, ui: UiState) => () => void;

interface View {
  readonly run: RunStore;
  readonly ui: UiState;
  readonly host: HTMLElement;
  readonly place: Place;
  /** The children of its output, and whether they were hidden before. */
  snapshot: [child: HTMLElement, hidden: HTMLElement["hidden"]][];
  unmount(): void;
}

export class Registry {
  /** Comms that are served by a stand-in for their model, see `js/lab/src/standin.ts`. */
  readonly standIns = new Set<string>();
  private readonly sources = new Set<RunSource>();
  private readonly views = new Map<HTMLElement, View>();
  private readonly uiOf = new WeakMap<HTMLElement, UiState>();
  /** By run, what its last removed view showed: an output that is written anew goes on with that. */
  private readonly lastUi = new Map<string, UiState>();
  /** The runs that were shown and are not, the one that went last at the end. */
  private readonly hidden = new Map<string, RunStore>();
  /** By output of a program, what takes its views away. */
  private readonly programs = new Map<HTMLElement, () => void>();
  /** Where outputs are looked for: no search of the page sees into a shadow root. */
  private readonly roots = new Set<Document | ShadowRoot>([document]);
  /** Outputs that a front end has given us itself: it may keep each in a shadow root. */
  private readonly given = new Set<HTMLElement>();
  private readonly askedFor = new WeakMap<HTMLElement, Set<RunSource>>();
  private readonly observer = new MutationObserver(() => this.sweepSoon());
  private sweeping = false;

  constructor(
    readonly waiting: HTMLElement[],
    private readonly mount: Mount,
    private readonly showProgram: ShowProgram = () => {},
  ) {}

  readonly attach = (output: HTMLElement): void => {
    const program = output.getAttribute(PROGRAM_ATTRIBUTE);
    if (program) this.attachProgram(output, program);
    const key = output.getAttribute(RUN_ATTRIBUTE);
    const view = this.views.get(output);
    if (!key || (view && this.isServed(view.run))) return;
    for (const source of this.sources) {
      const run = source.find(key);
      if (run) {
        if (view) this.close(output, view);
        this.show(output, run);
        return;
      }
    }
  };

  /** Whether an output of the run stands around this element, on the page or in a shadow root, where it is found from now on. */
  standsAround(element: HTMLElement, run: string): boolean {
    const root = rootsAround(element).find((one) => one.querySelector(`[${RUN_ATTRIBUTE}="${run}"]`));
    if (!root) return false;
    this.roots.add(root);
    this.observer.observe(root, CHANGES);
    this.sweep();
    return true;
  }

  /** Makes an output live whenever its run is there; returns what ends that. */
  give(output: HTMLElement): () => void {
    this.given.add(output);
    this.attach(output);
    return () => {
      this.given.delete(output);
      output.remove();
      this.sweepSoon();
    };
  }

  /** Each kernel of the page is asked once whether the program is its own. */
  private attachProgram(output: HTMLElement, key: string): void {
    const asked = this.askedFor.get(output) ?? new Set();
    this.askedFor.set(output, asked);
    for (const source of this.sources) {
      if (!source.program || asked.has(source) || this.programs.has(output)) continue;
      asked.add(source);
      this.showProgram(output, key, source.program, (remove) => {
        if (output.isConnected && !this.programs.has(output)) this.programs.set(output, remove);
        else remove();
      });
    }
  }

  add(source: RunSource): void {
    this.sources.add(source);
    for (const root of this.roots) this.observer.observe(root, CHANGES);
    for (const output of this.waiting.splice(0)) this.attach(output);
    this.sweep();
  }

  /** The views of its runs stay, with what they last showed, until another source has these runs. */
  remove(source: RunSource): void {
    this.sources.delete(source);
    this.sweep();
  }

  /** Takes the views of outputs that left the page or have another run now, gives one to those that can have it now. */
  sweep(): void {
    this.removeOld();
    const outputs = `[${RUN_ATTRIBUTE}], [${PROGRAM_ATTRIBUTE}]`;
    for (const root of this.roots) {
      if (!root.isConnected) this.roots.delete(root);
      for (const output of root.querySelectorAll<HTMLElement>(outputs)) this.attach(output);
    }
    for (const output of this.given) this.attach(output);
    if (this.sources.size === 0 && this.views.size === 0 && this.programs.size === 0) this.observer.disconnect();
  }

  /** Of runs whose kernel is gone, shows how their files are read again, see `widgets/reload.py`. */
  offerFiles(): void {
    for (const [output, { run }] of this.views) {
      const file = output.querySelector<HTMLElement>(`:scope > [${FILE_ATTRIBUTE}]`);
      if (file) file.hidden = !run.gone;
    }
  }

  /** What is here of a run whose kernel may be gone. */
  lastOf(key: string): LastSeen | undefined {
    const shown = [...this.views.values()].find(({ run }) => run.key === key)?.run;
    const run = shown ?? this.hidden.get(key) ?? [...this.sources].map((source) => source.known(key)).find(Boolean);
    return run && lastSeen(run);
  }

  private removeOld(): void {
    for (const [output, remove] of this.programs) {
      if (output.isConnected) continue;
      remove();
      this.programs.delete(output);
    }
    for (const [output, view] of this.views) {
      if (isOutputOf(view, output)) continue;
      this.close(output, view);
      if (output.isConnected) this.uiOf.delete(output);
      this.lastUi.set(view.run.key, view.ui);
      this.hidden.delete(view.run.key);
      this.hidden.set(view.run.key, view.run);
    }
    this.forgetHidden();
  }

  private isServed(run: RunStore): boolean {
    return [...this.sources].some((source) => source.known(run.key) === run);
  }

  private close(output: HTMLElement, view: View): void {
    view.unmount();
    view.host.remove();
    showAgain(view);
    this.views.delete(output);
  }

  private forgetHidden(): void {
    for (const { run } of this.views.values()) this.hidden.delete(run.key);
    let events = [...this.hidden.values()].reduce((sum, run) => sum + run.log.length, 0);
    for (const [key, run] of this.hidden) {
      if (events <= MOST_HIDDEN_EVENTS) return;
      events -= run.log.length;
      this.hidden.delete(key);
      this.lastUi.delete(key);
      for (const source of this.sources) source.forget(key);
    }
  }

  private sweepSoon(): void {
    if (this.sweeping) return;
    this.sweeping = true;
    setTimeout(() => {
      this.sweeping = false;
      this.sweep();
    });
  }

  private show(output: HTMLElement, run: RunStore): void {
    const view = this.takeOver(run) ?? this.open(output, run);
    const children = [...output.children].filter((child): child is HTMLElement => child instanceof HTMLElement);
    view.snapshot = children.map((child) => [child, child.hidden]);
    for (const child of children) child.hidden = true;
    output.append(view.host);
    this.views.set(output, view);
    this.uiOf.set(output, view.ui);
    view.place.restore();
    this.removeOld();
  }

  /** The view of an output that has just left the page: it goes on in the one that is written in its place. */
  private takeOver(run: RunStore): View | undefined {
    for (const [output, view] of this.views) {
      if (isOutputOf(view, output) || view.run !== run) continue;
      this.views.delete(output);
      showAgain(view);
      return view;
    }
    return undefined;
  }

  private open(output: HTMLElement, run: RunStore): View {
    const [host, ui] = [document.createElement("div"), this.uiFor(output, run.key)];
    const unmount = this.mount(host, run, ui);
    return { run, ui, host, place: new Place(host.shadowRoot ?? host), snapshot: [], unmount };
  }

  private uiFor(output: HTMLElement, key: string): UiState {
    const ui = this.uiOf.get(output) ?? this.lastUi.get(key) ?? createUi();
    this.lastUi.delete(key);
    return ui;
  }
}

/** The shadow roots in which an element is, the innermost first, and the page. */
function rootsAround(element: HTMLElement): (Document | ShadowRoot)[] {
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? [root, ...rootsAround(root.host as HTMLElement)] : [document];
}

function isOutputOf({ run }: View, output: HTMLElement): boolean {
  return output.isConnected && output.getAttribute(RUN_ATTRIBUTE) === run.key;
}

function showAgain({ snapshot }: View): void {
  for (const [child, hidden] of snapshot) child.hidden = hidden;
}

declare global {
  interface Window {
    __jaxDebug?: Registry | { waiting: HTMLElement[] };
  }
}

/** The registry of this page, made by the first model that comes. */
export function pageRegistry(mount: Mount, showProgram?: ShowProgram): Registry {
  const page = window.__jaxDebug;
  if (page && "attach" in page) return page;
  const registry = new Registry(page?.waiting ?? [], mount, showProgram);
  window.__jaxDebug = registry;
  return registry;
}
