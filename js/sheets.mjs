// Compresses style sheets with a dictionary of their common parts, to less than half of their size.

/**
 * The first of the characters that stand for entries of the dictionary. No style sheet uses them; each takes two bytes.
 */
const FIRST = 0x100;
/**
 * Candidates for the dictionary: declarations, properties and variables. A candidate that would cost more than it saves
 * is not used.
 */
const CANDIDATES = [
  /[^{};]+;/g,
  /[^{};]+}/g,
  /[\w-]+:[^{};]+/g,
  /[\w-]+:/g,
  /var\(--[\w-]+\)/g,
  /\w+-mix\(in srgb,/g,
  /[\w-]+/g,
];
const LEAST_SAVED = 4;
const SYMBOL_BYTES = 2;
const QUOTES = 3;

/** Returns the classes that a minified sheet styles by a selector of the class alone, such as `.link`. */
export function classesOf(sheet) {
  const selectors = [...sheet.matchAll(/([^{}]+)\{/g)].flatMap(([, all]) => all.split(","));
  return new Set(selectors.flatMap((one) => /^\.([\w-]+)$/.exec(one)?.slice(1) ?? []));
}

/** Returns an error for each class that two bundles style: all bundles share the panel's shadow root. */
export function clashes(bundles) {
  const owners = new Map();
  return Object.entries(bundles).flatMap(([bundle, sheets]) =>
    [...classesOf(sheets.join(""))].flatMap((name) => {
      const owner = owners.get(name) ?? bundle;
      owners.set(name, owner);
      return owner === bundle ? [] : [`the class .${name} has a look of its own in ${owner} and in ${bundle}`];
    }),
  );
}

/** Returns the dictionary and the compressed sheets by name. */
export function packed(sheets) {
  const names = Object.keys(sheets);
  let parts = Object.values(sheets);
  const taken = parts.find((part) => /[\u0100-\u02ff]/.test(part));
  if (taken) throw new Error(`a style sheet has a character that sheets.mjs uses itself: ${taken}`);
  const saved = (text) => {
    const times = parts.reduce((sum, part) => sum + part.split(text).length - 1, 0);
    return times * (text.length - SYMBOL_BYTES) - text.length - QUOTES;
  };
  const found = new Set(parts.flatMap((part) => CANDIDATES.flatMap((pattern) => part.match(pattern) ?? [])));
  const ranked = [...found].map((text) => [saved(text), text]).sort(([a], [b]) => b - a);
  for (const [gain, text] of ranked) {
    if (gain < LEAST_SAVED) break;
    if (saved(text) < LEAST_SAVED) continue;
    const symbol = String.fromCharCode(FIRST + parts.length - names.length);
    parts = [...parts.map((part) => part.replaceAll(text, symbol)), text];
  }
  const dictionary = parts.slice(names.length);
  return { dictionary, sheets: Object.fromEntries(names.map((name, i) => [name, parts[i]])) };
}

/** Returns the module that decompresses the sheets. */
export function unpacker(dictionary) {
  const last = FIRST + dictionary.length - 1;
  const range = [FIRST, last].map((code) => `\\u${code.toString(16).padStart(4, "0")}`).join("-");
  return `const words = ${JSON.stringify(dictionary)};
    export const unpack = (text) => text.replace(/[${range}]/g, (c) => unpack(words[c.charCodeAt(0) - ${FIRST}]));`;
}
