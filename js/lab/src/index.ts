/**
 * JupyterLab's plugin: the side panel, the status-bar item, the commands. It also works in Notebook 7, which has no
 * status bar.
 */
import { ILabShell, ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { INotebookTracker } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { IStatusBar } from "@jupyterlab/statusbar";
import { effect } from "@preact/signals";
import { h } from "preact";
import { Beside } from "./beside";
import { addCommands, OPEN_BESIDE } from "./commands";
import { askControl } from "./control";
import { Follower } from "./follow";
import { KernelLink } from "./link";
import { offerReload } from "./reload";
import { SidePanel } from "./SidePanel";
import { StatusItem } from "./StatusItem";
import { Saved } from "./saved";
import { load } from "./settings";
import css from "./style.raw.css";
import { SidePanelWidget, ViewWidget } from "./widgets";

const PLUGIN = "jax-debug-widgets:plugin";

async function activate(
  { commands, shell }: JupyterFrontEnd,
  notebooks: INotebookTracker,
  labShell: ILabShell | null,
  restorer: ILayoutRestorer | null,
  palette: ICommandPalette | null,
  statusBar: IStatusBar | null,
  settingRegistry: ISettingRegistry | null,
): Promise<void> {
  offerReload(notebooks, commands);
  document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  const settings = await load(settingRegistry, PLUGIN);
  const onBegin = (link: KernelLink) => {
    if (settings.value.showWhenRunBegins && link === follower.current.value?.link) showSidePanel();
  };
  const saved = new Saved(notebooks);
  const open = (kernel: Kernel.IKernelConnection) => new KernelLink(kernel, onBegin, askControl, saved);
  const follower = new Follower(notebooks, open, () => saved.opened());
  const followed = follower.current;
  const beside = labShell ? new Beside(shell, notebooks, settings, (run) => follower.linkOf(run)) : undefined;
  const openBeside = beside && (({ key, title }: { key: string; title: string }) => beside.open(key, title));
  const sidePanel = new SidePanelWidget(() => h(SidePanel, { followed, openBeside }));
  const showSidePanel = () => shell.activateById(sidePanel.id);
  effect(() => shell.add(sidePanel, settings.value.side, { rank: 850, type: "JAX debug" }));
  addCommands(commands, palette, { followed, notebooks, beside, showSidePanel });
  if (statusBar) {
    const item = new ViewWidget(() => h(StatusItem, { followed, settings, onOpen: showSidePanel }));
    item.addClass("jaxdebug-StatusItem");
    statusBar.registerStatusItem(PLUGIN, { item, align: "left", rank: 90 });
  }
  restorer?.add(sidePanel, sidePanel.id);
  if (restorer) beside?.restoreBy(restorer, OPEN_BESIDE);
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN,
  description: "The list of captured runs beside the notebook, their barrier in the status bar, and commands.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ILabShell, ILayoutRestorer, ICommandPalette, IStatusBar, ISettingRegistry],
  activate,
};

export default plugin;
