/** The button of a saved output (`jax_debug_widgets/widgets/reload.py`): a cell below it reads the run's file in the new kernel. */
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { CommandRegistry } from "@lumino/commands";

const EXTENSION = "%load_ext jax_debug_widgets";

declare global {
  interface Window {
    __jaxDebugLoad?: (output: HTMLElement, command: string) => Promise<void>;
  }
}

/** Runs the command in a new cell below the output's, where it can be seen and run again. */
export function offerReload(notebooks: INotebookTracker, commands: CommandRegistry): void {
  window.__jaxDebugLoad = async (output, command) => {
    const panel = notebooks.find(({ node }) => node.contains(output));
    const notebook = panel?.content;
    if (!panel || !notebook?.model) return;
    const below = notebook.widgets.findIndex(({ node }) => node.contains(output)) + 1;
    notebook.model.sharedModel.insertCell(below, { cell_type: "code", source: command });
    notebook.activeCellIndex = below;
    // What it says where the extension is there already is for nobody.
    const kernel = panel.sessionContext.session?.kernel;
    await kernel?.requestExecute({ code: EXTENSION, silent: true, store_history: false }).done;
    await commands.execute("notebook:run-cell");
  };
}
