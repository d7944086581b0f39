/** What is typed into the filter: words, `/regex/`, and terms such as `name:loss` or `-phase:backward`. */
import type { CallMessage, SiteMessage } from "../transport/wire";

export const FIELDS = ["name", "step", "lane", "device", "phase", "kind", "process", "call", "in"] as const;
type Field = (typeof FIELDS)[number];
/** What `name:` was called before. */
const OLD_NAME = "site";

interface Term {
  field: Field;
  wanted: string;
  negated: boolean;
}

const WORDS = [...FIELDS, OLD_NAME].join("|");
const TERM = new RegExp(`(?:^|\\s)(-?)(${WORDS}):(\\S*)`, "g");
/** Before a term that follows one without a value. */
const NO_VALUE = new RegExp(`(?<=(?:^|\\s)-?(?:${WORDS}):)(?=-?(?:${WORDS}):)`, "g");
const LIKE_A_TERM = /(?:^|\s)-?([a-z_]\w*):\S/i;
const FIELD_WORDS = FIELDS.map((field) => `${field}:`).join(" ");
const REGEX = /^\/(.+)\/(i?)$/;
const NO_LINE = /(?!)/;
const PHASES = ["forward", "backward", "recompute"];
const KINDS = ["ordered", "unordered", "print", "log", "callback", "breakpoint", "pure", "io", "sharding", "watch"];
const RANGE_WORDS = "takes a number or a range from the lower to the higher, such as 12, 10-20, 10- or -20";

export class Query {
  /** Matches the line; null matches all; where the query cannot be used it matches none. */
  readonly line: RegExp | null;
  /** Why the query cannot be used. */
  readonly problem: string;
  /** Why nothing is found, and what may be meant. */
  readonly hint: string;
  private readonly terms: Term[] = [];

  constructor(input: string) {
    const rest = apart(input)
      .replace(TERM, (_, minus: string, said: Field | typeof OLD_NAME, wanted: string) => {
        const field = said === OLD_NAME ? "name" : said;
        this.terms.push({ field, wanted: wanted.toLowerCase(), negated: minus !== "" });
        return "";
      })
      .trim();
    const pattern = REGEX.exec(rest);
    const unknown = pattern ? undefined : LIKE_A_TERM.exec(rest)?.[1];
    let line = null;
    let problem = "";
    try {
      if (pattern) line = new RegExp(pattern[1] as string, pattern[2]);
      else if (rest) line = wordsIn(rest);
    } catch {
      line = NO_LINE;
      problem = "not a regular expression";
    }
    this.line = line;
    this.problem = problem;
    this.hint = problem
      ? `${rest} is ${problem}.`
      : unknown
        ? `There is no ${unknown}: to filter by, so it is looked for as text. There are ${FIELD_WORDS}.`
        : (this.terms.map(whyNot).find(Boolean) ?? "");
  }

  get isEmpty(): boolean {
    return !this.line && !this.hasTerms;
  }

  get hasTerms(): boolean {
    return this.terms.length > 0;
  }

  wantsSite(site: SiteMessage): boolean {
    return (
      this.all("name", (wanted) => textOf(site).includes(wanted)) &&
      this.all("phase", (wanted) => site.phase.startsWith(wanted)) &&
      this.all("process", (wanted) => isIn(site.process, wanted)) &&
      this.all("kind", (wanted) =>
        `${site.kind} ${site.ordered ? "ordered" : "unordered"}`.split(" ").some((word) => word.startsWith(wanted)),
      ) &&
      this.all("in", (wanted) => `${site.name_stack} ${site.transforms.join(" ")}`.toLowerCase().includes(wanted))
    );
  }

  /** By its lane, its step, and the name of its device; -1 and "" where there is none. */
  wantsPlace(lane: number, step: number, device: string): boolean {
    return (
      this.all("lane", (wanted) => isIn(lane, wanted)) &&
      this.all("step", (wanted) => isIn(step, wanted)) &&
      this.all("device", (wanted) => (wanted === "" ? device !== "" : `:${device}`.endsWith(`:${wanted}`)))
    );
  }

  wantsCall(id: number, call: CallMessage | undefined): boolean {
    return this.all("call", (wanted) => String(id) === wanted || (call?.name.toLowerCase().includes(wanted) ?? false));
  }

  /** One of the wanted, where several of a field are; and none that is not. */
  private all(field: Field, matches: (wanted: string) => boolean): boolean {
    let [asked, found] = [false, false];
    for (const { field: own, wanted, negated } of this.terms) {
      if (own !== field) continue;
      const matched = matches(wanted);
      if (negated && matched) return false;
      asked ||= !negated;
      found ||= !negated && matched;
    }
    return found || !asked;
  }
}

/** Each term after a space: one without a value does not take the next as its value. */
function apart(input: string): string {
  return input.replace(NO_VALUE, " ");
}

/** What the field takes, where it cannot take what is wanted; else "". */
function whyNot({ field, wanted }: Pick<Term, "field" | "wanted">): string {
  if (wanted === "") return "";
  if (field === "phase" || field === "kind") {
    const words = field === "phase" ? PHASES : KINDS;
    return words.some((word) => word.startsWith(wanted)) ? "" : `${field}: takes one of ${words.join(", ")}.`;
  }
  if (field !== "step" && field !== "lane" && field !== "process") return "";
  const range = /^(\d*)(?:-(\d*))?$/.exec(wanted);
  const isEmpty = range?.[1] && range[2] && Number(range[1]) > Number(range[2]);
  return range && !isEmpty ? "" : `${field}: ${RANGE_WORDS}.`;
}

/** `12`, `10-20`, `10-` or `-20`; nothing for any. */
function isIn(n: number, wanted: string): boolean {
  const [from = "", to = from] = wanted.split("-");
  return n >= Number(from) && n <= (to === "" ? Number.POSITIVE_INFINITY : Number(to));
}

/** The words of a filter with `term` in them, or without it if it was. */
export function toggleTerm(filter: string, term: string): string {
  const words = filter.split(/\s+/).filter(Boolean);
  const others = words.filter((word) => word !== term);
  return (others.length < words.length ? others : [...words, term]).join(" ");
}

/**
 * A filter as it is shown: its terms as chips, and the text beside them. A term that its field cannot take is
 * text; while somebody types, the one at the end too.
 */
export function chipsOf(filter: string, typing: boolean): { chips: string[]; text: string } {
  const chips: string[] = [];
  const terms = apart(filter);
  const text = terms.replace(TERM, (all, minus: string, said: Field | typeof OLD_NAME, wanted: string, at: number) => {
    const field = said === OLD_NAME ? "name" : said;
    const isTyped = typing && at + all.length === terms.length;
    if (wanted === "" || isTyped || whyNot({ field, wanted: wanted.toLowerCase() })) return all;
    chips.push(`${minus}${said}:${wanted}`);
    return "";
  });
  return { chips, text: chips.length > 0 ? text.trimStart() : text };
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
