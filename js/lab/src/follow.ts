/** Follows the kernel of the current notebook. */

import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { type ReadonlySignal, signal } from "@preact/signals";
import type { KernelLink } from "./link";

export interface Followed {
  /** The name of the notebook. */
  name: string;
  /** Undefined for a notebook without a kernel. */
  link: KernelLink | undefined;
}

/** Keeps a link to the kernel of each open notebook, because a run may begin in any of them. */
export class Follower {
  /** The links by the id of the kernel. */
  private readonly links = signal<ReadonlyMap<string, KernelLink>>(new Map());
  private readonly changing = signal<Followed | undefined>(undefined);

  /** `onOpen` is called when a notebook and its cells have loaded. */
  constructor(
    private readonly tracker: INotebookTracker,
    private readonly open: (kernel: Kernel.IKernelConnection) => KernelLink,
    private readonly onOpen: () => void = () => {},
  ) {
    tracker.forEach((notebook) => {
      this.watch(notebook);
    });
    tracker.widgetAdded.connect((_, notebook) => this.watch(notebook));
    tracker.currentChanged.connect(() => this.update());
    this.update();
  }

  /** Undefined if no notebook is open. */
  get current(): ReadonlySignal<Followed | undefined> {
    return this.changing;
  }

  /** Returns the link to the kernel that knows a run. */
  linkOf(runKey: string): KernelLink | undefined {
    return [...this.links.value.values()].find(({ runs }) => runs.has(runKey));
  }

  private watch(notebook: NotebookPanel): void {
    const { sessionContext } = notebook;
    void notebook.context.ready.then(() => this.onReady());
    this.link(sessionContext.session?.kernel);
    sessionContext.kernelChanged.connect((_, { oldValue, newValue }) => {
      if (oldValue && oldValue.id !== newValue?.id) this.links.peek().get(oldValue.id)?.end();
      this.link(newValue);
      this.update();
    });
    notebook.context.pathChanged.connect(() => this.update());
    this.update();
  }

  /** Compares the runs that the notebook has stored with those of its kernel. */
  private onReady(): void {
    this.onOpen();
    for (const link of this.links.peek().values()) link.compareSaved();
  }

  private link(kernel: Kernel.IKernelConnection | null | undefined): KernelLink | undefined {
    if (!kernel || kernel.isDisposed) return undefined;
    const known = this.links.peek().get(kernel.id);
    if (known && !known.kernel.isDisposed) return known;
    const link = this.open(kernel);
    this.links.value = new Map(this.links.peek()).set(kernel.id, link);
    kernel.disposed.connect(() => {
      this.links.value = new Map([...this.links.peek()].filter(([, other]) => other !== link));
    });
    return link;
  }

  private update(): void {
    const notebook = this.tracker.currentWidget;
    if (!notebook || notebook.isDisposed) {
      this.changing.value = undefined;
      return;
    }
    const link = this.link(notebook.sessionContext.session?.kernel);
    this.changing.value = { name: notebook.context.path.split("/").at(-1) ?? "", link };
  }
}
