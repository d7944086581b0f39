// Functions that the tests call in the page, on JupyterLab's own objects. See notebook.py.
window.notebookDriver = {
  runs: [],

  panel(path) {
    for (const widget of window.jupyterapp?.shell.widgets("main") ?? []) {
      if (widget.context?.path === path && widget.content?.activeCellIndex !== undefined) return widget;
    }
    return null;
  },

  cell(path, index) {
    const cell = this.panel(path)?.content.widgets[index];
    if (!cell) throw new Error(`no cell ${index} in ${path}`);
    return cell;
  },

  isOpen(path) {
    const panel = this.panel(path);
    return Boolean(panel?.context.isReady && panel.content.widgets.length && panel.isVisible);
  },

  async open(path) {
    const services = window.jupyterapp.serviceManager;
    await services.kernelspecs.refreshSpecs();
    // The list may still have sessions of the previous test, so it is refreshed first.
    await services.sessions.refreshRunning();
    await window.jupyterapp.commands.execute("docmanager:open", { path });
  },

  // Closes everything without saving, and resets the side bars. Returns false if the page is not as if just loaded.
  clear() {
    const shell = window.jupyterapp?.shell;
    if (!shell?.expandLeft || document.querySelector(".jp-Dialog")) return false;
    // Closes the front document last: a notebook that comes to the front while it is being closed raises in its toolbar.
    const opened = [...shell.widgets("main")].sort((a, b) => a.isVisible - b.isVisible);
    for (const widget of opened) widget.dispose();
    shell.collapseRight();
    shell.expandLeft();
    shell.activateById("filebrowser");
    return true;
  },

  // Describes the page in text, instead of a picture.
  state() {
    const panels = [...(window.jupyterapp?.shell.widgets("main") ?? [])].filter((widget) => widget.sessionContext);
    const notebooks = panels.map(({ context, content, sessionContext }) => ({
      path: context.path,
      kernel: sessionContext.session?.kernel?.id ?? null,
      status: sessionContext.kernelDisplayStatus,
      connection: sessionContext.session?.kernel?.connectionStatus ?? null,
      cells: content.widgets?.map(({ model }) => `${model.executionState} [${model.executionCount ?? " "}]`),
    }));
    const dialogs = [...document.querySelectorAll(".jp-Dialog-content")].map((dialog) => dialog.textContent);
    return JSON.stringify({ notebooks, dialogs, runs: this.runs });
  },

  activate(path) {
    window.jupyterapp.shell.activateById(this.panel(path).id);
  },

  kernelIsIdle(path) {
    const session = this.panel(path)?.sessionContext;
    return Boolean(session?.isReady && session.session?.kernel?.status === "idle");
  },

  /** What the menu's "Reconnect to Kernel" does. */
  reconnect(path) {
    this.panel(path).sessionContext.session.kernel.reconnect();
  },

  /** What a page does for the first widget of a kind: a request of the control channel, where the kernel has subshells. */
  async makeSubshell(path) {
    const kernel = this.panel(path).sessionContext.session.kernel;
    if (kernel.supportsSubshells) await kernel.requestCreateSubshell({}).done;
  },

  kernelIsGone(path) {
    return Boolean(this.panel(path)?.sessionContext.hasNoKernel);
  },

  // Starts a command on a notebook and returns at once; `runState` returns its state.
  start(command, path, index = null) {
    const panel = this.panel(path);
    window.jupyterapp.shell.activateById(panel.id);
    if (index !== null) {
      panel.content.deselectAll();
      panel.content.activeCellIndex = index;
    }
    const run = { state: "running" };
    const ended = (state) => {
      run.state = state;
    };
    window.jupyterapp.commands.execute(command).then(
      () => ended("done"),
      (reason) => ended(`failed: ${reason}`),
    );
    return this.runs.push(run) - 1;
  },

  // Runs a command on a cell and waits for its end.
  async command(command, path, index) {
    const panel = this.panel(path);
    window.jupyterapp.shell.activateById(panel.id);
    panel.content.deselectAll();
    panel.content.activeCellIndex = index;
    await window.jupyterapp.commands.execute(command);
  },

  runState(id) {
    return this.runs[id].state;
  },

  runHasEnded(id) {
    return this.runs[id].state !== "running";
  },

  cellIsRunning(path, index) {
    return this.cell(path, index).model.executionState === "running";
  },

  outputs(path, index) {
    return this.cell(path, index).model.outputs.toJSON();
  },

  // Distant cells are rendered only when they come near the screen.
  async showCell(path, index) {
    await this.panel(path).content.scrollToItem(index, "smart");
  },

  async save(path) {
    await this.panel(path).context.save();
  },

  async shutDownKernel(path) {
    await this.panel(path).sessionContext.shutdown();
  },

  async restartKernel(path) {
    await this.panel(path).sessionContext.session.kernel.restart();
  },

  async interruptKernel(path) {
    await this.panel(path).sessionContext.session.kernel.interrupt();
  },

  async close(path) {
    const panel = this.panel(path);
    await panel.context.save();
    panel.close();
  },

  setTheme(theme) {
    return window.jupyterapp.commands.execute("apputils:change-theme", { theme });
  },

  themeIs(theme) {
    return document.body.dataset.jpThemeName === theme;
  },
};
