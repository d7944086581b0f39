/** Which entries of a stream are shown: those of one site, and those whose line holds a text. */
import { Growable } from "./growable";
import type { RunStore, Stream } from "./run";

export interface Query {
  /** Matches the line; null matches all. */
  line: ((text: string) => boolean) | null;
  /** Lower-case part of a site's label or place; empty matches all. */
  site: string;
  /** Why the query cannot be used. */
  problem: string;
}

/** Understands words, `/regex/`, and `site:name`. */
export function parseQuery(input: string): Query {
  let site = "";
  const rest = input
    .replace(/(?:^|\s)site:(\S*)/, (_, name: string) => {
      site = name.toLowerCase();
      return "";
    })
    .trim();
  const pattern = /^\/(.+)\/(i?)$/.exec(rest);
  if (!pattern) {
    const wanted = rest.toLowerCase();
    return { line: wanted ? (text) => text.toLowerCase().includes(wanted) : null, site, problem: "" };
  }
  try {
    const regex = new RegExp(pattern[1] as string, pattern[2]);
    return { line: (text) => regex.test(text), site, problem: "" };
  } catch {
    return { line: null, site, problem: "not a regular expression" };
  }
}

/** The entries of one stream that pass; brought up to date by looking at the new ones only. */
export class FilteredStream {
  private readonly passed = new Growable<Uint32Array>(Uint32Array);
  private looked = 0;
  private epoch = -1;
  private sites = 0;

  constructor(
    private readonly run: RunStore,
    private readonly stream: Stream,
    private readonly query: Query,
    private readonly only: number | null,
  ) {}

  update(): Growable<Uint32Array> {
    const { run, stream, query, only } = this;
    if (!query.line && !query.site && only === null) return stream.positions;
    if (this.epoch !== run.epoch || this.sites !== run.sites.size) this.restart();
    const wanted = this.wantedSites();
    for (; this.looked < stream.positions.length; this.looked++) {
      const position = stream.positions.at(this.looked);
      if (run.log.gapCount(position) > 0) this.passed.push(position);
      else if (!wanted || wanted.has(run.log.site(position))) this.pushIfLineMatches(position);
    }
    return this.passed;
  }

  private pushIfLineMatches(position: number): void {
    if (this.query.line) {
      const text = this.run.texts.get(this.run.log.number(position));
      if (text === undefined || !this.query.line(text)) return;
    }
    this.passed.push(position);
  }

  private restart(): void {
    this.epoch = this.run.epoch;
    this.sites = this.run.sites.size;
    this.passed.length = 0;
    this.looked = 0;
  }

  private wantedSites(): Set<number> | null {
    const { query, only } = this;
    if (only !== null) return new Set([only]);
    if (!query.site) return null;
    const named = [...this.run.sites.values()].filter((site) =>
      `${site.label} ${site.where} ${site.source}`.toLowerCase().includes(query.site),
    );
    return new Set(named.map((site) => site.id));
  }
}
