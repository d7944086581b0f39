/** The values beside the source at a stop: for each line, the variables that it has assigned. */
import type { FrameMessage, LocalMessage } from "../../transport/stops";

/** Matches a name, with its type if there is one: `x: Array`, or `a:f32[3]` in a jaxpr. */
const TARGET = "([A-Za-z_]\\w*)(?::\\s?[\\w.]+(?:\\[[^\\]=]*\\])?)?";
/** Matches the left side of an assignment to one or several names. A jaxpr has no commas between names. */
const TARGETS = new RegExp(`^[\\s([*]*${TARGET}(?:(?:[)\\]]*,[\\s([*]*|\\s+)${TARGET})*[\\s)\\],]*=(?!=)`);
const NAME = new RegExp(TARGET, "g");
const LONGEST = 60;

/** Returns only lines before the current one: the others have not run, or only in an earlier iteration of a loop. */
export function assigned({ source, first_line: first, line: current, locals }: FrameMessage): Map<number, string> {
  const known = new Map(locals.map((local) => [local.name, local]));
  const lines = new Map<number, string>();
  source.slice(0, Math.max(0, current - first)).forEach((text, i) => {
    const names = [...(TARGETS.exec(text)?.[0] ?? "").matchAll(NAME)].map(([, name]) => known.get(name as string));
    const values = names.filter((local) => local !== undefined).map(brief);
    if (values.length > 0) lines.set(first + i, values.join(", "));
  });
  return lines;
}

function brief({ name, text, shape, dtype }: LocalMessage): string {
  const [line = ""] = text.split("\n");
  const value = shape && shape.length > 0 && line.length > LONGEST / 2 ? `${dtype}[${shape}]` : line;
  return `${name} = ${value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value}`;
}
