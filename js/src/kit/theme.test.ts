import { afterEach, describe, expect, it, vi } from "vitest";
import { watchTheme } from "./theme";

afterEach(() => {
  document.body.className = "";
  delete document.body.dataset.jpThemeLight;
  vi.unstubAllGlobals();
});

/** Sets the colour preference of the system. */
function prefer(matches: boolean): void {
  vi.stubGlobal("matchMedia", () => ({ matches, addEventListener() {}, removeEventListener() {} }));
}

/** Returns whether a panel is dark on a page whose body has these marks. */
function isDark(className: string, jpThemeLight?: string): boolean {
  document.body.className = className;
  if (jpThemeLight) document.body.dataset.jpThemeLight = jpThemeLight;
  const { dark, stop } = watchTheme();
  stop();
  return dark.value;
}

describe("the theme", () => {
  it.each([
    ["JupyterLab", "", "true", "false"],
    ["marimo", "light light-theme", undefined, undefined],
    ["VS Code", "vscode-light", undefined, undefined],
  ])("is that of %s, whatever the system prefers", (_, light, jpLight, jpDark) => {
    prefer(true);
    expect(isDark(light, jpLight)).toBe(false);
    prefer(false);
    expect(isDark(light.replaceAll("light", "dark"), jpDark)).toBe(true);
  });

  it("is that of the system outside JupyterLab", () => {
    prefer(true);
    expect(isDark("")).toBe(true);
    prefer(false);
    expect(isDark("")).toBe(false);
  });

  it("follows the theme of the page", async () => {
    document.body.className = "light light-theme";
    const { dark, stop } = watchTheme();
    document.body.className = "dark dark-theme";
    await new Promise((resolve) => setTimeout(resolve));
    expect(dark.value).toBe(true);
    stop();
  });
});
