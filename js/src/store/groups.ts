/**
 * Decides which values of a run are drawn together: leaves of a pytree by their path, gradients, activations.
 * `widgets/overview/groups.py` is its twin; both are tested on `tests/overview_cases.json`.
 */

/** `grads['layers'][0]['w']` is the leaf `w` of the group `layers[0]` of the tree `grads`. */
export interface Path {
  root: string;
  group: string;
  leaf: string;
}

const NAME = /^[^\W\d][\w.]*/;
const SEGMENT = /\[\s*(?:'([^']*)'|"([^"]*)"|([^\]]*))\s*\]|\.([^\W\d]\w*)/gy;
const GRADIENTS = /^(.*_)?(d|g|grad|grads|gradient|gradients)$/i;
const UPDATES = /^(.*_)?(update|updates|delta|deltas)$/i;
const PARAMETERS = /^(.*_)?(p|w|weights?|params?|parameters|model|net|network|variables|theta)$/i;
const BIAS = /^(b|bias|biases|beta|offset)$/i;

export type Kind = "gradient" | "update" | "parameter" | "";

/** Parses the name of a variable or leaf. Returns null if the name is an expression. */
export function pathOf(name: string): Path | null {
  const root = /^[^\W\d]\w*/.exec(name)?.[0];
  if (!root) return null;
  const segments: string[] = [];
  SEGMENT.lastIndex = root.length;
  let end = root.length;
  for (let found = SEGMENT.exec(name); found; found = SEGMENT.exec(name)) {
    const [, single, double, index, attribute] = found;
    segments.push(single ?? double ?? attribute ?? `[${index}]`);
    end = SEGMENT.lastIndex;
  }
  if (end < name.length) return null;
  // Flax puts all parameters under the key `params`.
  if (segments.length > 2 && segments[0] === "params") segments.shift();
  const leaf = segments.pop() ?? "";
  const group = segments.reduce((path, key) => path + (key.startsWith("[") || !path ? key : `.${key}`), "");
  return { root, group, leaf };
}

/** Returns the label of its line in a chart. A bare index such as `[0]` is prefixed with the name of its tree. */
export function titleOf({ root, group, leaf }: Path): string {
  const own = group || leaf;
  return own.startsWith("[") ? root + own : own || root;
}

/** Guesses what a pytree holds from its name; "" if the name does not tell. */
export function kindOf(root: string): Kind {
  if (GRADIENTS.test(root)) return "gradient";
  if (UPDATES.test(root)) return "update";
  return PARAMETERS.test(root) ? "parameter" : "";
}

/** Whether the name is a variable or a part of one, not an expression. */
export function isName(name: string): boolean {
  return NAME.test(name) && pathOf(name) !== null;
}

export function isBias(leaf: string): boolean {
  return BIAS.test(leaf);
}

/**
 * Returns the values to draw together. If some values came more than once, those that came only once are left out.
 * Those that never came are always left out.
 */
export function inLoop<Item>(all: readonly Item[], timesOf: (item: Item) => number): Item[] {
  const least = all.some((item) => timesOf(item) > 1) ? 2 : 1;
  return all.filter((item) => timesOf(item) >= least);
}

/** Numbers the words that occur more than once: `x :4 1/2`. */
export function numbered(words: readonly string[]): string[] {
  const [all, seen] = [new Map<string, number>(), new Map<string, number>()];
  const count = (counts: Map<string, number>, word: string) =>
    counts.set(word, (counts.get(word) ?? 0) + 1).get(word) as number;
  for (const word of words) count(all, word);
  return words.map((word) => ((all.get(word) ?? 0) > 1 ? `${word} ${count(seen, word)}/${all.get(word)}` : word));
}

/**
 * Returns the `most` largest items in their order; those that are not finite count as largest. Sizes between the same
 * powers of two are equal, and the first of them are taken, so that the choice changes little while a run goes on.
 */
export function largest<Item extends { size: number }>(all: readonly Item[], most: number): Item[] {
  const power = ({ size }: Item) => (Number.isFinite(size) ? Math.floor(Math.log2(Math.abs(size))) : 1e9);
  const chosen = new Set([...all].sort((a, b) => power(b) - power(a) || 0).slice(0, most));
  return all.filter((item) => chosen.has(item));
}

/** The number of hues for groups. */
export const HUES = 4;

/**
 * Maps each group to its hue, in the order of the groups. If there are more groups than hues, the largest groups get
 * one each, and the others share `HUES`.
 */
export function huesOf(groups: readonly { group: string; size: number }[]): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const { group, size } of groups) {
    const finite = Number.isFinite(size) ? size : 0;
    sizes.set(group, Math.max(sizes.get(group) ?? 0, finite));
  }
  const largest = [...sizes].sort(([, a], [, b]) => b - a).slice(0, HUES);
  const coloured = new Set(largest.map(([group]) => group));
  let next = 0;
  return new Map([...sizes.keys()].map((group) => [group, coloured.has(group) ? next++ : HUES]));
}
