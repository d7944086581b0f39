/** The values beside the source at a stop: for each line, the variables that it has assigned. */
import type { FrameMessage, LocalMessage } from "../../transport/stops";

/** Matches a name, with its type if there is one: `x: Array`, or `a:f32[3]` in a jaxpr. */
const TARGET = "([A-Za-z_]\\w*)(?::\\s?[\\w.]+(?:\\[[^\\]=]*\\])?)?";
/** Matches the left side of an assignment to one or several names. A jaxpr has no commas between names. */
const TARGETS = new RegExp(`^[\\s([*]*${TARGET}(?:(?:[)\\]]*,[\\s([*]*|\\s+)${TARGET})*[\\s)\\],]*=(?!=)`);
const NAME = new RegExp(TARGET, "g");
const FUNCTION = /^\s*(?:async\s+def|def|class)\b/;
/** Matches the end of a signature or call over several lines. */
const CLOSES = /^\s*[)\]}]/;
const LONGEST = 60;

/**
 * Returns only lines of the frame's function before the current one: the others have not run, or only in an earlier
 * iteration of a loop.
 */
export function assigned({ source, first_line: first, line: current, locals }: FrameMessage): Map<number, string> {
  const known = new Map(locals.map((local) => [local.name, local]));
  const lines = new Map<number, string>();
  const own = linesOfFunction(source, Math.min(source.length, Math.max(0, current - first)));
  source.forEach((text, i) => {
    if (!own.has(i)) return;
    const names = [...(TARGETS.exec(text)?.[0] ?? "").matchAll(NAME)].map(([, name]) => known.get(name as string));
    const values = names.filter((local) => local !== undefined).map(brief);
    if (values.length > 0) lines.set(first + i, values.join(", "));
  });
  return lines;
}

/** Returns the indices of the lines before `at` in the same function, without those of functions and classes in it. */
function linesOfFunction(source: readonly string[], at: number): Set<number> {
  let [start, least] = [0, indentOf(source[at] ?? "")];
  for (let i = at - 1; i >= 0 && start === 0; i--) {
    const text = source[i] as string;
    if (text.trim() === "" || CLOSES.test(text) || indentOf(text) >= least) continue;
    least = indentOf(text);
    if (FUNCTION.test(text)) start = i + 1;
  }
  const own = new Set<number>();
  let inner = Number.POSITIVE_INFINITY;
  source.slice(start, at).forEach((text, i) => {
    const indent = indentOf(text);
    if (text.trim() === "" || indent > inner || (indent === inner && CLOSES.test(text))) return;
    inner = FUNCTION.test(text) ? indent : Number.POSITIVE_INFINITY;
    own.add(start + i);
  });
  return own;
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}

function brief({ name, text, shape, dtype }: LocalMessage): string {
  const [line = ""] = text.split("\n");
  const value = shape && shape.length > 0 && line.length > LONGEST / 2 ? `${dtype}[${shape}]` : line;
  return `${name} = ${value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value}`;
}
