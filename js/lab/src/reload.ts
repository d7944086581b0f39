/**
 * The button of a saved output (`jax_debug_widgets/widgets/reload.py`): it inserts a cell that loads the run's file in
 * the new kernel.
 */
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { CommandRegistry } from "@lumino/commands";

const EXTENSION = "%load_ext jax_debug_widgets";

declare global {
  interface Window {
    __jaxDebugLoad?: (output: HTMLElement, command: string) => Promise<void>;
  }
}

/** Runs the command in a new cell below the output, where the user can see it and run it again. */
export function offerReload(notebooks: INotebookTracker, commands: CommandRegistry): void {
  window.__jaxDebugLoad = async (output, command) => {
    const panel = notebooks.find(({ node }) => node.contains(output));
    const notebook = panel?.content;
    if (!panel || !notebook?.model) return;
    const below = notebook.widgets.findIndex(({ node }) => node.contains(output)) + 1;
    notebook.model.sharedModel.insertCell(below, { cell_type: "code", source: command });
    notebook.activeCellIndex = below;
    // Silent, because loading an extension twice prints a message.
    const kernel = panel.sessionContext.session?.kernel;
    await kernel?.requestExecute({ code: EXTENSION, silent: true, store_history: false }).done;
    await commands.execute("notebook:run-cell");
  };
}
