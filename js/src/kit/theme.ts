/**
 * Detects light or dark mode, and reads the colours that a canvas needs as values. The rest of the theme is in
 * `theme.raw.css`.
 */
import { type Signal, signal } from "@preact/signals";

export const SITE_COLOURS = 8;

/** Returns the custom property of `theme.raw.css` with the colour of a site. */
export function siteColour(rank: number): string {
  return `--site-${rank % SITE_COLOURS}`;
}

/**
 * Whether the page is dark. JupyterLab, marimo and VS Code mark the body; on other pages the system's preference
 * counts.
 */
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
    cache.clear();
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

/**
 * A cache of colours, by mode and name. Each query makes the browser compute styles and layout, and there are many in a
 * frame.
 */
const cache = new Map<string, string>();

/** Returns the value of the custom property `name` at an element of a panel. */
export function colourAt(element: Element, name: string): string {
  const key = (element.closest(".dark") ? "dark" : "") + name;
  const known = cache.get(key) ?? computedColour(element, name);
  // An element outside the page has no computed colours.
  if (known) cache.set(key, known);
  return known;
}

function computedColour(element: Element, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
