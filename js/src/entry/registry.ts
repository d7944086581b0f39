/**
 * Connects the outputs of the page with the clients (one for each kernel session) that make them live.
 *
 * An output is static HTML, written by `jax_debug_widgets/widgets/`: a snapshot that is readable by itself, and a
 * script that announces it:
 *
 *     <div data-jaxdebug-run="KEY"> …snapshot… </div>
 *     <script>(() => {
 *       const page = (window.__jaxDebug ??= { waiting: [] });
 *       const output = document.currentScript?.previousElementSibling;
 *       if (output) page.attach ? page.attach(output) : page.waiting.push(output);
 *     })()</script>
 *
 * The output shows the snapshot until the first batch of its run arrives. Then its children are hidden, and a live view
 * is added in a shadow root. Front ends remove and add outputs as the notebook is scrolled and redrawn. When the page
 * changes, a removed output loses its view and shows its snapshot again, and a new output gets a view. While a run goes
 * on, the kernel rewrites its output every few seconds; the new output takes over the view of the old one. marimo
 * writes the next run of a cell into the same elements; then the old view is removed and the new run gets its own.
 *
 * The registry on `window` is the only state outside the models.
 */
import type { RunStore } from "../store/run";
import { createUi, type UiState } from "../store/ui";
import type { Asked } from "../views/later/load";
import { type LastSeen, lastSeen } from "./last";
import { Place } from "./place";

export const RUN_ATTRIBUTE = "data-jaxdebug-run";
/** The attribute of an output that shows a program, see `magics/program_outputs.py`. */
export const PROGRAM_ATTRIBUTE = "data-jaxdebug-program";
const CHANGES = { childList: true, subtree: true, attributeFilter: [RUN_ATTRIBUTE] };
const FILE_ATTRIBUTE = "data-jaxdebug-file";

/** Serves the runs of one kernel session. */
export interface RunSource {
  /** Returns the run if some of it has arrived; otherwise requests it. */
  find(key: string): RunStore | undefined;
  /** Returns the run if the source has it; requests nothing. */
  known(key: string): RunStore | undefined;
  /** Answers the requests of the views of programs. */
  readonly program?: Asked | undefined;
  /** Drops a run that can be requested from the kernel again. */
  forget(key: string): void;
}

/** The most events to keep of runs that no output shows. A cell that runs again is compared with them. */
const MOST_HIDDEN_EVENTS = 200_000;

export type ShowProgram = (output: HTMLElement, key: string, asked: Asked, done: (remove: () => void) => void) => void;
export type Mount = (host: HTMLElement, run: RunStore, ui: UiState) => () => void;

interface View {
  readonly run: RunStore;
  readonly ui: UiState;
  readonly host: HTMLElement;
  readonly place: Place;
  /** The children of the output, and whether each was hidden before. */
  snapshot: [child: HTMLElement, hidden: HTMLElement["hidden"]][];
  unmount(): void;
}

export class Registry {
  /** The ids of comms that have a stand-in for their model, see `js/lab/src/standin.ts`. */
  readonly standIns = new Set<string>();
  private readonly sources = new Set<RunSource>();
  private readonly views = new Map<HTMLElement, View>();
  private readonly uiOf = new WeakMap<HTMLElement, UiState>();
  /** For each run, the state of its last removed view. A new output of the run continues with it. */
  private readonly lastUi = new Map<string, UiState>();
  /** The runs that are no longer shown, the most recently shown last. */
  private readonly hidden = new Map<string, RunStore>();
  /** For each output of a program, a function that removes its views. */
  private readonly programs = new Map<HTMLElement, () => void>();
  /** The roots to search for outputs: a query of the page does not see into shadow roots. */
  private readonly roots = new Set<Document | ShadowRoot>([document]);
  /** The outputs that a front end gave us. They may be in shadow roots. */
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

  /**
   * Whether the roots around an element have an output of the run. The nearest such root is searched for outputs from
   * now on.
   */
  standsAround(element: HTMLElement, run: string): boolean {
    const root = rootsAround(element).find((candidate) => candidate.querySelector(`[${RUN_ATTRIBUTE}="${run}"]`));
    if (!root) return false;
    this.roots.add(root);
    this.observer.observe(root, CHANGES);
    this.sweep();
    return true;
  }

  /** Makes an output live as soon as its run has arrived. Returns a function that removes the output. */
  give(output: HTMLElement): () => void {
    this.given.add(output);
    this.attach(output);
    return () => {
      this.given.delete(output);
      output.remove();
      this.sweepSoon();
    };
  }

  /** Asks each kernel of the page once whether it knows the program. */
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

  /** Removes a source. The views of its runs keep their last state until another source has these runs. */
  remove(source: RunSource): void {
    this.sources.delete(source);
    this.sweep();
  }

  /** Removes the views of outputs that have left the page or show another run, and adds views to new outputs. */
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

  /** For each run without a kernel, shows how to read its file again, see `widgets/reload.py`. */
  offerFiles(): void {
    for (const [output, { run }] of this.views) {
      const file = output.querySelector<HTMLElement>(`:scope > [${FILE_ATTRIBUTE}]`);
      if (file) file.hidden = !run.gone;
    }
  }

  /** Returns what the page has of a run, with or without a kernel. */
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

  /** Returns the view of an output of this run that has just left the page, so that the new output continues it. */
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

/** Returns the shadow roots around an element, the innermost first, then the document. */
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

/** Returns the registry of this page. The first model creates it. */
export function pageRegistry(mount: Mount, showProgram?: ShowProgram): Registry {
  const page = window.__jaxDebug;
  if (page && "attach" in page) return page;
  const registry = new Registry(page?.waiting ?? [], mount, showProgram);
  window.__jaxDebug = registry;
  return registry;
}
