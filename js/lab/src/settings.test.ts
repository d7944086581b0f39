import type { ISettingRegistry } from "@jupyterlab/settingregistry";
import { Signal } from "@lumino/signaling";
import { expect, it, vi } from "vitest";
import schema from "../schema/plugin.json";
import { load } from "./settings";

it("the settings are the defaults of the schema if there is no registry, or it fails", async () => {
  const defaults = Object.fromEntries(Object.entries(schema.properties).map(([name, value]) => [name, value.default]));
  expect((await load(null, "plugin")).value).toEqual(defaults);
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const broken = { load: () => Promise.reject(new Error("no schema")) } as unknown as ISettingRegistry;
  expect((await load(broken, "plugin")).value).toEqual(defaults);
  expect(console.warn).toHaveBeenCalled();
});

it("the settings follow the user's choice", async () => {
  const loaded = { composite: { side: "left" }, changed: new Signal<object, void>({}) };
  const registry = { load: async () => loaded } as unknown as ISettingRegistry;
  const settings = await load(registry, "plugin");
  expect(settings.value).toMatchObject({ side: "left", statusBar: true });
  loaded.composite = { side: "right" };
  loaded.changed.emit();
  expect(settings.value.side).toBe("right");
});
