/** Lines that are called from several places, or run in several processes, have a site for each: what tells these apart. */
import type { SiteMessage } from "../transport/wire";

/** By site, the caller and the process that tell it from the others of its line and name; only for sites that have such others. */
export function tellApart(sites: Iterable<SiteMessage>, copies: Record<string, number> = {}): Map<number, string> {
  const apart = new Map<number, string>();
  for (const group of groupsOf(sites)) {
    const processes = new Set(group.map(({ process }) => process));
    for (const site of group) {
      const words = [callerOf(site, group), processes.size > 1 ? processesOf(site, group, copies) : ""];
      const told = words.filter(Boolean).join(" · ");
      if (told) apart.set(site.id, told);
    }
  }
  return apart;
}

/** The sites of one line and name, also in several processes. */
function groupsOf(sites: Iterable<SiteMessage>): Iterable<SiteMessage[]> {
  const groups = new Map<string, SiteMessage[]>();
  for (const site of sites) {
    const key = lineOf(site);
    groups.set(key, [...(groups.get(key) ?? []), site]);
  }
  return groups.values();
}

/** What the sites of one line and name have in common. */
export function lineOf(site: SiteMessage): string {
  return [site.where, site.label, site.kind, site.phase].join("\n");
}

function callerOf({ callers, process }: SiteMessage, group: SiteMessage[]): string {
  const own = group.filter((other) => other.process === process);
  return callers.find((one) => !own.every((other) => other.callers.includes(one))) ?? "";
}

/** `process 1`; `all 4 processes` where its values are the same in all. */
function processesOf(site: SiteMessage, group: SiteMessage[], copies: Record<string, number>): string {
  const same = group.filter(({ id }) => id === site.id || copies[id] === site.id).map(({ process }) => process);
  if (same.length === 1) return `process ${site.process}`;
  const all = new Set(group.map(({ process }) => process)).size;
  return same.length === all ? `all ${all} processes` : `processes ${same.join(", ")}`;
}
