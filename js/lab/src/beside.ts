/** The panels of runs in the main area. The open ones are restored when the page is reloaded. */
import type { ILayoutRestorer, JupyterFrontEnd } from "@jupyterlab/application";
import { WidgetTracker } from "@jupyterlab/apputils";
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { ReadonlySignal } from "@preact/signals";
import { icon } from "./icon";
import type { FindLink } from "./RunOutput";
import type { Settings } from "./settings";
import { RunWidget } from "./widgets";

export class Beside {
  private readonly opened = new WidgetTracker<RunWidget>({ namespace: "jax-debug-beside" });

  constructor(
    private readonly shell: JupyterFrontEnd.IShell,
    private readonly notebooks: INotebookTracker,
    private readonly settings: ReadonlySignal<Readonly<Settings>>,
    private readonly findLink: FindLink,
  ) {}

  /** `command` opens the run with the arguments `run` and `title`. */
  restoreBy(restorer: ILayoutRestorer, command: string): void {
    void restorer.restore(this.opened, {
      command,
      args: ({ runKey, title }) => ({ run: runKey, title: title.label }),
      name: ({ runKey }) => runKey,
    });
  }

  open(runKey: string, title: string): void {
    const known = this.opened.find((widget) => widget.runKey === runKey);
    if (known) {
      this.shell.activateById(known.id);
      return;
    }
    const widget = new RunWidget(runKey, title, this.findLink);
    widget.title.icon = icon;
    const mode = this.settings.value.beside;
    const ref = this.notebooks.currentWidget?.id;
    // Split beside the notebook, the panel is visible at once, and the notebook keeps the focus.
    this.shell.add(widget, "main", { mode, activate: mode === "tab-after", ...(ref && { ref }) });
    void this.opened.add(widget);
  }
}
