/** Escape codes of terminals (ECMA-48): detects them and removes them. */

const ESCAPE = "\u001b";
/** Matches links and titles: `ESC ] ... BEL` or `ESC ] ... ESC \\`. */
export const COMMANDS = new RegExp(`${ESCAPE}\\][^\u0007${ESCAPE}]*(?:\u0007|${ESCAPE}\\\\)`, "g");
/** Matches colours and cursor movements: `ESC [ ... m`. */
const CONTROLS = new RegExp(`${ESCAPE}\\[[0-?]*[ -/]*[@-~]`, "g");

export const isStyled = (text: string): boolean => text.includes(ESCAPE);

export function plain(text: string): string {
  return isStyled(text) ? text.replace(COMMANDS, "").replace(CONTROLS, "") : text;
}
