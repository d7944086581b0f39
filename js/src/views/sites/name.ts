/** What a site is called in the panel. */
import type { SiteMessage } from "../../transport/wire";

export function siteName(site: SiteMessage): string {
  return site.label || site.source.trim() || site.where;
}
