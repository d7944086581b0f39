/** The user's settings, see `schema/plugin.json`. */
import type { ISettingRegistry } from "@jupyterlab/settingregistry";
import { type ReadonlySignal, signal } from "@preact/signals";

export interface Settings {
  side: "right" | "left";
  beside: "split-right" | "split-bottom" | "tab-after";
  showWhenRunBegins: boolean;
  statusBar: boolean;
}

const DEFAULTS: Settings = { side: "right", beside: "split-right", showWhenRunBegins: false, statusBar: true };

/** Returns the defaults until the settings are loaded, or if there is no registry. */
export async function load(
  registry: ISettingRegistry | null,
  plugin: string,
): Promise<ReadonlySignal<Readonly<Settings>>> {
  const settings = signal<Readonly<Settings>>(DEFAULTS);
  if (!registry) return settings;
  try {
    const loaded = await registry.load(plugin);
    const take = () => {
      settings.value = { ...DEFAULTS, ...(loaded.composite as Partial<Settings>) };
    };
    loaded.changed.connect(take);
    take();
  } catch (error) {
    console.warn("jax_debug_widgets: the settings could not be loaded, the defaults hold.", error);
  }
  return settings;
}
