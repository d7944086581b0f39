/** Light or dark, and the colours that a canvas needs as values. The rest of the theme is in `theme.raw.css`. */
import { type Signal, signal } from "@preact/signals";

export const SITE_COLOURS = 8;

/** A custom property of `theme.raw.css`. */
export function siteColour(rank: number): string {
  return `--site-${rank % SITE_COLOURS}`;
}

/** JupyterLab, marimo and VS Code mark the body; elsewhere the system's preference counts. */
function isDark(): boolean {
  const { jpThemeLight } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === "false";
  if (document.body.matches(".light-theme, .dark-theme")) return document.body.matches(".dark-theme"); // marimo
  if (document.body.className.includes("vscode-")) {
    return document.body.matches(".vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)");
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export interface Theme {
  dark: Signal<boolean>;
  stop(): void;
}

export function watchTheme(): Theme {
  const dark = signal(isDark());
  const update = () => {
    worth.clear();
    dark.value = isDark();
  };
  const observer = new MutationObserver(update);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  const preference = matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", update);
  const stop = () => {
    observer.disconnect();
    preference.removeEventListener("change", update);
  };
  return { dark, stop };
}

/** By light or dark and name: to ask the browser is to make it compute styles and layout, many times a frame. */
const worth = new Map<string, string>();

/** What the custom property `name` is worth at `element` of a panel. */
export function colourAt(element: Element, name: string): string {
  const key = (element.closest(".dark") ? "dark" : "") + name;
  const known = worth.get(key) ?? asked(element, name);
  // An element that is not on the page yet knows no colours.
  if (known) worth.set(key, known);
  return known;
}

function asked(element: Element, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
