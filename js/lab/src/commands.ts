/** The commands for the palette and shortcuts. The keys are in `schema/plugin.json`. */
import type { ICommandPalette } from "@jupyterlab/apputils";
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { CommandRegistry } from "@lumino/commands";
import { effect, type ReadonlySignal } from "@preact/signals";
import type { Beside } from "./beside";
import { toggleMagic } from "./capture";
import type { Followed } from "./follow";
import { icon } from "./icon";

export const OPEN_BESIDE = "jax-debug:open-beside";
const CATEGORY = "JAX debug";

interface Parts {
  followed: ReadonlySignal<Followed | undefined>;
  notebooks: INotebookTracker;
  /** Undefined if the main area shows only one document. */
  beside: Beside | undefined;
  showSidePanel(): void;
}

export function addCommands(commands: CommandRegistry, palette: ICommandPalette | null, parts: Parts): void {
  const { followed, notebooks, beside } = parts;
  const newest = () => followed.value?.link?.runs.newest.value;
  const add = (command: string, options: CommandRegistry.ICommandOptions) => {
    commands.addCommand(command, options);
    palette?.addItem({ command, category: CATEGORY });
  };
  add("jax-debug:show", { label: "Show the Runs of This Notebook", icon, execute: parts.showSidePanel });
  if (beside) {
    add(OPEN_BESIDE, {
      label: "Open the Newest Run Beside the Notebook",
      isEnabled: () => newest() !== undefined,
      execute: ({ run, title }) => {
        if (typeof run === "string") beside.open(run, String(title ?? run));
        else openNewest();
      },
    });
  }
  function openNewest(): void {
    const run = newest();
    if (run) beside?.open(run.key, run.title);
  }
  add("jax-debug:barrier", {
    label: "Wait for the Effects of the Newest Run",
    isEnabled: () => (newest()?.pending.length ?? 0) > 0,
    execute: () => {
      const run = newest();
      if (run) followed.value?.link?.request({ type: "barrier", run: run.key });
    },
  });
  add("jax-debug:capture-cell", {
    label: "Turn Capture of the Cell On or Off (%%jaxdebug)",
    isEnabled: () => notebooks.activeCell?.model.type === "code",
    execute: () => {
      const source = notebooks.activeCell?.model.sharedModel;
      if (source) source.setSource(toggleMagic(source.getSource()));
    },
  });
  effect(() => {
    void newest();
    commands.notifyCommandChanged();
  });
}
