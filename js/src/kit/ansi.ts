/**
 * Splits text with the colour codes of terminals (ECMA-48, `\x1b[31m`) into styled pieces. Other escape codes are
 * removed.
 */
import Anser, { type AnserJsonEntry } from "anser";
import { COMMANDS } from "./escapes";

/**
 * A piece of text with one style: CSS classes, and an inline style if the colour is not one of the sixteen named ones.
 */
export interface Piece {
  text: string;
  class: string;
  style: string;
}

/** Returns the pieces of a text, in order. */
export function styled(text: string): Piece[] {
  return Anser.ansiToJson(text.replace(COMMANDS, ""), { use_classes: true, remove_empty: true }).map(pieceOf);
}

/** Returns the pieces of the first line, cut after `most` characters. */
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
  const classes = [
    ...decorations.map((decoration) => `ansi-${decoration}`),
    named(fg),
    named(bg).replace("ansi-", "ansi-on-"),
  ];
  const styles = [colour("color", fg, fg_truecolor), colour("background", bg, bg_truecolor)];
  return { text: content, class: classes.filter(Boolean).join(" "), style: styles.filter(Boolean).join(";") };
}

/**
 * Returns the class of a named colour, such as `ansi-red`; empty for a colour of the 256-colour palette and for a true
 * colour.
 */
function named(name: string | null): string {
  return name && !/^ansi-(palette|truecolor)/.test(name) ? name : "";
}

function colour(property: string, name: string | null, truecolor: string | null): string {
  const rgb = name === "ansi-truecolor" ? truecolor : palette(name);
  return rgb ? `${property}:rgb(${rgb})` : "";
}

/** Returns the colour of `ansi-palette-196`: indices from 16 on are a cube of 6 × 6 × 6 colours, then 24 greys. */
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
