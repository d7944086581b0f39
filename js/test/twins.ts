/** The tables of cases in `tests/twins/`, which pytest reads as well. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../tests/twins");

export function twins<Case>(name: string): Case[] {
  return JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8"));
}
