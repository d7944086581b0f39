/** Edits the text at the console's prompt. */
import type { Matches, Typed } from "../../store/debugger";

/** Returns the index of the cursor's line in `text`, and the number of lines. */
export function lineOf(text: string, cursor: number): { line: number; lines: number } {
  return { line: text.slice(0, cursor).split("\n").length - 1, lines: text.split("\n").length };
}

/** Returns the command typed `back` commands ago, without repetitions; 0 is the empty prompt. */
export function recalled(typed: readonly Typed[], back: number): { text: string; back: number } {
  const texts = typed.map(({ text }) => text).filter((text, i, all) => text !== all[i - 1]);
  const at = Math.max(0, Math.min(back, texts.length));
  return { text: texts.at(-at) && at > 0 ? (texts.at(-at) as string) : "", back: at };
}

/** Returns `text` with the common prefix of all matches inserted. */
export function completed(text: string, cursor: number, { start, matches }: Matches): { text: string; cursor: number } {
  let [common = ""] = matches;
  for (const match of matches) while (!match.startsWith(common)) common = common.slice(0, -1);
  const longer = common.length > cursor - start ? common : text.slice(start, cursor);
  return { text: text.slice(0, start) + longer + text.slice(cursor), cursor: start + longer.length };
}
