/** The magic that makes a cell a capture. */
const MAGIC = "%%jaxdebug";

/** Returns `source` with the magic in its first line. If the magic is there, removes that line with its options. */
export function toggleMagic(source: string): string {
  const [first = "", ...rest] = source.split("\n");
  const isThere = first === MAGIC || first.startsWith(`${MAGIC} `);
  return isThere ? rest.join("\n") : `${MAGIC}\n${source}`;
}
