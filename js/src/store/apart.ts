/**
 * Labels that tell apart the sites of one source line. A line has several sites if several callers or processes reach
 * it.
 */
import type { SiteMessage } from "../transport/wire";

/**
 * Maps the id of a site to its caller and process. Only sites that share their line and name with another site have an
 * entry.
 */
export function distinguish(sites: Iterable<SiteMessage>, copies: Record<string, number> = {}): Map<number, string> {
  const apart = new Map<number, string>();
  for (const group of groupsOf(sites)) {
    const processes = new Set(group.map(({ process }) => process));
    for (const site of group) {
      const words = [callerOf(site, group), processes.size > 1 ? processesOf(site, group, copies) : ""];
      const label = words.filter(Boolean).join(" · ");
      if (label) apart.set(site.id, label);
    }
  }
  return apart;
}

/** Groups the sites that have the same line and name, across processes. */
function groupsOf(sites: Iterable<SiteMessage>): Iterable<SiteMessage[]> {
  const groups = new Map<string, SiteMessage[]>();
  for (const site of sites) {
    const key = lineOf(site);
    groups.set(key, [...(groups.get(key) ?? []), site]);
  }
  return groups.values();
}

/** Returns a key that is equal for the sites of one line and name. */
export function lineOf(site: SiteMessage): string {
  return [site.where, site.label, site.kind, site.phase].join("\n");
}

function callerOf({ callers, process }: SiteMessage, group: SiteMessage[]): string {
  const neighbours = group.filter((other) => other.process === process);
  return callers.find((caller) => !neighbours.every((other) => other.callers.includes(caller))) ?? "";
}

/** Returns `process 1`, or `all 4 processes` if the site's values are the same in every process. */
function processesOf(site: SiteMessage, group: SiteMessage[], copies: Record<string, number>): string {
  const same = group.filter(({ id }) => id === site.id || copies[id] === site.id).map(({ process }) => process);
  if (same.length === 1) return `process ${site.process}`;
  const all = new Set(group.map(({ process }) => process)).size;
  return same.length === all ? `all ${all} processes` : `processes ${same.join(", ")}`;
}
