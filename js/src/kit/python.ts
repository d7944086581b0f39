/** Splits Python source into coloured spans. It is a small tokenizer for reading, so that no editor need be bundled. */

export type SpanKind = "" | "comment" | "string" | "number" | "keyword" | "definition";
export type Span = readonly [kind: SpanKind, text: string];

const KEYWORDS =
  "False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|" +
  "import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield";
/** One group for each kind, in the order of `KINDS`. A string may be open at the end of the line. */
const TOKEN = new RegExp(
  [
    "(#.*)",
    `((?:\\b[rbfutRBFUT]{1,2})?(?:"""(?:\\\\.|(?!""").)*(?:"""|$)|'''(?:\\\\.|(?!''').)*(?:'''|$)|"(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?))`,
    "(\\b\\d[\\w.]*(?:(?<=[eE])[+-]\\d+)?|(?<![\\w.])\\.\\d\\w*)",
    `\\b(${KEYWORDS})\\b`,
    "((?<=\\b(?:def|class)\\s+)\\w+)",
  ].join("|"),
  "g",
);
const KINDS: readonly SpanKind[] = ["comment", "string", "number", "keyword", "definition"];

/** Returns the spans of each line; joined, they are the line. A triple-quoted string may span several lines. */
export function highlighted(lines: readonly string[]): Span[][] {
  let open = "";
  return lines.map((line) => {
    const spans: Span[] = [];
    let at = 0;
    if (open) {
      const end = line.indexOf(open);
      at = end < 0 ? line.length : end + open.length;
      spans.push(["string", line.slice(0, at)]);
      if (end >= 0) open = "";
    }
    for (const match of line.slice(at).matchAll(TOKEN)) {
      const start = line.length - match.input.length + match.index;
      const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)] as SpanKind;
      if (start > at) spans.push(["", line.slice(at, start)]);
      spans.push([kind, match[0]]);
      at = start + match[0].length;
      if (kind === "string") open = leftOpen(match[0]);
    }
    if (at < line.length) spans.push(["", line.slice(at)]);
    return spans;
  });
}

/** Returns the triple quotes that this string leaves open; "" if it is closed. */
function leftOpen(text: string): string {
  const [, quotes = ""] = /^\w*("""|''')/.exec(text) ?? [];
  const content = text.slice(text.indexOf(quotes) + quotes.length);
  return quotes && !content.endsWith(quotes) ? quotes : "";
}

const QUOTED = `('(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*")`;
const MAGIC = new RegExp(`get_ipython\\(\\)\\.run_line_magic\\('(\\w+)', ${QUOTED}\\)`, "g");
const SYSTEM = new RegExp(`get_ipython\\(\\)\\.(?:system|getoutput)\\(${QUOTED}\\)`, "g");

/**
 * Returns a line as the user typed it in the cell, such as `%load_ext x` or `!ls`. IPython replaces these with calls.
 */
export function asTyped(line: string): string {
  if (!line.includes("get_ipython()")) return line;
  const magic = line.replace(MAGIC, (_, name: string, quoted: string) => `%${name} ${unquoted(quoted)}`.trimEnd());
  return magic.replace(SYSTEM, (_, quoted: string) => `!${unquoted(quoted)}`);
}

function unquoted(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/g, (_, sign: string) => (sign === "n" ? "\n" : sign));
}
