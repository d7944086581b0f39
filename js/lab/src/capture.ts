/** The first line that makes a cell a captured one. */
const MAGIC = "%%jaxdebug";

/** `source` with the magic on its first line, or without it if it was there; its options go with it. */
export function toggleMagic(source: string): string {
  const [first = "", ...rest] = source.split("\n");
  const isThere = first === MAGIC || first.startsWith(`${MAGIC} `);
  return isThere ? rest.join("\n") : `${MAGIC}\n${source}`;
}
