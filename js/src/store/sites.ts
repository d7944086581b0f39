/** The sites of a run by id, each as it was compiled last. */
import type { SiteMessage } from "../transport/wire";

export class Sites extends Map<number, SiteMessage> {
  private readonly types = new Map<number, SiteMessage[]>();

  add(site: SiteMessage): void {
    this.set(site.id, site);
    const types = this.types.get(site.id) ?? [];
    types[site.type] = site;
    this.types.set(site.id, types);
  }

  /** Returns a site as it was compiled for one of its types. */
  of(id: number, type: number): SiteMessage | undefined {
    return this.types.get(id)?.[type] ?? this.get(id);
  }
}
