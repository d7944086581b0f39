/** Selects what all views inspect: a site, its source line and, for a print, one of its values. */
import type { SiteMessage } from "../transport/wire";
import type { UiState } from "./ui";

export function inspect(ui: UiState, site: SiteMessage, value = 0): void {
  if (site.file) ui.place.value = { file: site.file, line: site.line, index: 0 };
  ui.part.value = `${site.id}/${value}`;
  ui.value.value = site.id;
}
