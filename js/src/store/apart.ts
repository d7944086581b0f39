/** Lines that are called from several places have a site for each: what tells these apart. */
import type { SiteMessage } from "../transport/wire";

/** By site, the caller that tells it from the others of its line and name; only for sites that have such others. */
export function tellApart(sites: Iterable<SiteMessage>): Map<number, string> {
  const groups = new Map<string, SiteMessage[]>();
  for (const site of sites) {
    const key = [site.where, site.label, site.kind, site.phase].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), site]);
  }
  const apart = new Map<number, string>();
  for (const group of groups.values()) {
    for (const { id, callers } of group) {
      const caller = callers.find((one) => !group.every((other) => other.callers.includes(one)));
      if (caller) apart.set(id, caller);
    }
  }
  return apart;
}
