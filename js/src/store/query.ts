/** What is typed into the filter: words, `/regex/`, and terms such as `site:loss` or `-phase:backward`. */
import type { CallMessage, SiteMessage } from "../transport/wire";

export const FIELDS = ["site", "phase", "kind", "lane", "call", "in"] as const;
type Field = (typeof FIELDS)[number];

interface Term {
  field: Field;
  wanted: string;
  negated: boolean;
}

const TERM = new RegExp(`(?:^|\\s)(-?)(${FIELDS.join("|")}):(\\S*)`, "g");
const REGEX = /^\/(.+)\/(i?)$/;

export class Query {
  /** Matches the line; null matches all. */
  readonly line: RegExp | null;
  /** Why the query cannot be used. */
  readonly problem: string;
  private readonly terms: Term[] = [];

  constructor(input: string) {
    const rest = input
      .replace(TERM, (_, minus: string, field: Field, wanted: string) => {
        this.terms.push({ field, wanted: wanted.toLowerCase(), negated: minus !== "" });
        return "";
      })
      .trim();
    const pattern = REGEX.exec(rest);
    let line = null;
    let problem = "";
    try {
      if (pattern) line = new RegExp(pattern[1] as string, pattern[2]);
      else if (rest) line = wordsIn(rest);
    } catch {
      problem = "not a regular expression";
    }
    this.line = line;
    this.problem = problem;
  }

  get isEmpty(): boolean {
    return !this.line && !this.hasTerms;
  }

  get hasTerms(): boolean {
    return this.terms.length > 0;
  }

  wantsSite(site: SiteMessage): boolean {
    return (
      this.all("site", (wanted) => textOf(site).includes(wanted)) &&
      this.all("phase", (wanted) => site.phase.startsWith(wanted)) &&
      this.all("kind", (wanted) =>
        `${site.kind} ${site.ordered ? "ordered" : "unordered"}`.split(" ").some((word) => word.startsWith(wanted)),
      ) &&
      this.all("in", (wanted) => `${site.name_stack} ${site.transforms.join(" ")}`.toLowerCase().includes(wanted))
    );
  }

  wantsLane(lane: number): boolean {
    return this.all("lane", (wanted) => (wanted === "" ? lane >= 0 : String(lane) === wanted));
  }

  wantsCall(id: number, call: CallMessage | undefined): boolean {
    return this.all("call", (wanted) => String(id) === wanted || (call?.name.toLowerCase().includes(wanted) ?? false));
  }

  private all(field: Field, matches: (wanted: string) => boolean): boolean {
    return this.terms.every((term) => term.field !== field || matches(term.wanted) !== term.negated);
  }
}

function textOf(site: SiteMessage): string {
  return `${site.label} ${site.where} ${site.source}`.toLowerCase();
}

/** In any case. `[nN]` is found in half the time that the flag `i` takes, which other alphabets need. */
function wordsIn(words: string): RegExp {
  const escaped = words.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const ofBothCases = escaped.replace(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
  return new RegExp(ofBothCases, /^[ -~]*$/.test(words) ? "" : "i");
}
