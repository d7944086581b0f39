/** The colours that terminals give a text by escape codes (ECMA-48, `\x1b[31m`), as pieces; all other codes are left out. */
import Anser, { type AnserJsonEntry } from "anser";
import { COMMANDS } from "./escapes";

/** A piece of a text in one style: class names, and a style where the colour is none of the sixteen named ones. */
export interface Piece {
  text: string;
  class: string;
  style: string;
}

/** The pieces of a text, in their order. */
export function styled(text: string): Piece[] {
  return Anser.ansiToJson(text.replace(COMMANDS, ""), { use_classes: true, remove_empty: true }).map(pieceOf);
}

/** The pieces of the first line, at most `most` characters. */
export function firstLine(pieces: readonly Piece[], most: number): Piece[] {
  const kept: Piece[] = [];
  let left = most;
  for (const piece of pieces) {
    const [line = "", ...more] = piece.text.split("\n");
    kept.push({ ...piece, text: line.slice(0, left) });
    left -= line.length;
    if (more.length > 0 || left <= 0) break;
  }
  return kept;
}

function pieceOf({ content, fg, bg, fg_truecolor, bg_truecolor, decorations }: AnserJsonEntry): Piece {
  const classes = [...decorations.map((one) => `ansi-${one}`), named(fg), named(bg).replace("ansi-", "ansi-on-")];
  const styles = [colour("color", fg, fg_truecolor), colour("background", bg, bg_truecolor)];
  return { text: content, class: classes.filter(Boolean).join(" "), style: styles.filter(Boolean).join(";") };
}

/** `ansi-red`; empty for a colour of the palette of 256, and for a true colour. */
function named(name: string | null): string {
  return name && !/^ansi-(palette|truecolor)/.test(name) ? name : "";
}

function colour(property: string, name: string | null, truecolor: string | null): string {
  const rgb = name === "ansi-truecolor" ? truecolor : palette(name);
  return rgb ? `${property}:rgb(${rgb})` : "";
}

/** Of `ansi-palette-196`: the cube of 6 x 6 x 6 from 16 on, then 24 greys. */
function palette(name: string | null): string {
  const index = Number(/^ansi-palette-(\d+)$/.exec(name ?? "")?.[1] ?? Number.NaN);
  if (Number.isNaN(index)) return "";
  if (index >= 232)
    return Array(3)
      .fill(8 + 10 * (index - 232))
      .join(",");
  const digits = [36, 6, 1].map((unit) => Math.floor((index - 16) / unit) % 6);
  return digits.map((digit) => (digit ? 55 + 40 * digit : 0)).join(",");
}
