/** Parses the text of the filter: words, `/regex/`, and terms such as `name:loss` or `-phase:backward`. */
import type { CallMessage, SiteMessage } from "../transport/wire";

export const FIELDS = ["name", "step", "lane", "device", "phase", "kind", "process", "call", "in"] as const;
type Field = (typeof FIELDS)[number];
/** The old name of `name:`. */
const OLD_NAME = "site";

interface Term {
  field: Field;
  wanted: string;
  negated: boolean;
}

const WORDS = [...FIELDS, OLD_NAME].join("|");
const TERM = new RegExp(`(?:^|\\s)(-?)(${WORDS}):(\\S*)`, "g");
/** Matches between a term without a value and the term after it. */
const NO_VALUE = new RegExp(`(?<=(?:^|\\s)-?(?:${WORDS}):)(?=-?(?:${WORDS}):)`, "g");
const LIKE_A_TERM = /(?:^|\s)-?([a-z_]\w*):\S/i;
/** Matches a comparison with a number: `loss > 0.9`. */
const COMPARISON = /^[^<>=!]*\w[\])'"]*\s*(?:[<>]=?|[=!]=)\s*[-+]?\.?\d[\d.e+-]*$/i;
const FIELD_WORDS = FIELDS.map((field) => `${field}:`).join(" ");
const REGEX = /^\/(.+)\/(i?)$/;
const NO_LINE = /(?!)/;
const PHASES = ["forward", "backward", "recompute"];
const KINDS = ["ordered", "unordered", "print", "log", "callback", "breakpoint", "pure", "io", "sharding", "watch"];
const RANGE_WORDS = "takes a number or a range from the lower to the higher, such as 12, 10-20, 10- or -20";

export class Query {
  /** Matches lines. Null matches every line. If the query is invalid, it matches none. */
  readonly line: RegExp | null;
  /** Why the query is invalid; "" if it is valid. */
  readonly problem: string;
  /** Why the query finds nothing, and what to write instead; "" if it may find something. */
  readonly hint: string;
  private readonly terms: Term[] = [];

  constructor(input: string) {
    const rest = separateTerms(input)
      .replace(TERM, (_, minus: string, word: Field | typeof OLD_NAME, wanted: string) => {
        const field = word === OLD_NAME ? "name" : word;
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
        : COMPARISON.test(rest)
          ? `Values are not compared here: ${rest} is looked for as text. --when '${rest}' in the cell's first line takes watched values where it holds.`
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

  /** Whether a lane, a step and a device name match. -1 and "" mean that there is none. */
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

  /** Whether at least one positive term of a field matches, if there is one, and no negated term does. */
  private all(field: Field, matches: (wanted: string) => boolean): boolean {
    let [isAsked, isFound] = [false, false];
    for (const { field: termField, wanted, negated } of this.terms) {
      if (termField !== field) continue;
      const matched = matches(wanted);
      if (negated && matched) return false;
      isAsked ||= !negated;
      isFound ||= !negated && matched;
    }
    return isFound || !isAsked;
  }
}

/** Puts a space before each term, so that a term without a value does not take the next term as its value. */
function separateTerms(input: string): string {
  return input.replace(NO_VALUE, " ");
}

/** Says which values a field takes if `wanted` is not one of them; otherwise "". */
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

/** Whether `n` is in a range such as `12`, `10-20`, `10-` or `-20`. The empty text has every number. */
function isIn(n: number, wanted: string): boolean {
  const [from = "", to = from] = wanted.split("-");
  return n >= Number(from) && n <= (to === "" ? Number.POSITIVE_INFINITY : Number(to));
}

/** Removes `term` from the words of a filter, or adds it if it is missing. */
export function toggleTerm(filter: string, term: string): string {
  const words = filter.split(/\s+/).filter(Boolean);
  const others = words.filter((word) => word !== term);
  return (others.length < words.length ? others : [...words, term]).join(" ");
}

/**
 * Splits a filter into chips, which are its terms, and the remaining text. A term with an invalid value stays text.
 * While the user types, so does the last term.
 */
export function chipsOf(filter: string, typing: boolean): { chips: string[]; text: string } {
  const chips: string[] = [];
  const terms = separateTerms(filter);
  const text = terms.replace(TERM, (all, minus: string, word: Field | typeof OLD_NAME, wanted: string, at: number) => {
    const field = word === OLD_NAME ? "name" : word;
    const isTyped = typing && at + all.length === terms.length;
    if (wanted === "" || isTyped || whyNot({ field, wanted: wanted.toLowerCase() })) return all;
    chips.push(`${minus}${word}:${wanted}`);
    return "";
  });
  return { chips, text: chips.length > 0 ? text.trimStart() : text };
}

function textOf(site: SiteMessage): string {
  return `${site.label} ${site.where} ${site.source}`.toLowerCase();
}

/**
 * Matches the words in upper and lower case. `[nN]` is twice as fast as the flag `i`, which letters outside ASCII need.
 */
function wordsIn(words: string): RegExp {
  const escaped = words.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const inBothCases = escaped.replace(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
  return new RegExp(inBothCases, /^[ -~]*$/.test(words) ? "" : "i");
}
