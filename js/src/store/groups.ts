/**
 * Which values of a run are drawn together: the parts of a pytree by their path, gradients, activations.
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

/** Null where a name is an expression. */
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
  // Flax puts all parameters under this name.
  if (segments.length > 2 && segments[0] === "params") segments.shift();
  const leaf = segments.pop() ?? "";
  const group = segments.reduce((path, one) => path + (one.startsWith("[") || !path ? one : `.${one}`), "");
  return { root, group, leaf };
}

/** The name of its line in a chart. A number alone, `[0]`, stands with its tree. */
export function titleOf({ root, group, leaf }: Path): string {
  return group || (leaf.startsWith("[") ? root + leaf : leaf) || root;
}

/** What a pytree of that name holds, as programs call it; "" where that cannot be told. */
export function kindOf(root: string): Kind {
  if (GRADIENTS.test(root)) return "gradient";
  if (UPDATES.test(root)) return "update";
  return PARAMETERS.test(root) ? "parameter" : "";
}

/** Whether it is a variable, or a part of one, and no expression. */
export function isName(name: string): boolean {
  return NAME.test(name) && pathOf(name) !== null;
}

export function isBias(leaf: string): boolean {
  return BIAS.test(leaf);
}

/** Those that are drawn together: what came once is of no step of the loop that others are in, and what never came of none. */
export function inLoop<Own>(all: readonly Own[], timesOf: (one: Own) => number): Own[] {
  const least = all.some((one) => timesOf(one) > 1) ? 2 : 1;
  return all.filter((one) => timesOf(one) >= least);
}

/** Words that occur more than once, each with which of how many it is: `x :4 1/2`. */
export function numbered(words: readonly string[]): string[] {
  const [all, seen] = [new Map<string, number>(), new Map<string, number>()];
  const count = (of: Map<string, number>, one: string) => of.set(one, (of.get(one) ?? 0) + 1).get(one) as number;
  for (const one of words) count(all, one);
  return words.map((one) => ((all.get(one) ?? 0) > 1 ? `${one} ${count(seen, one)}/${all.get(one)}` : one));
}

/** How many groups have a hue of their own. */
export const HUES = 4;

/** By group its hue, in their order; of more groups than hues the largest have one, and the rest share the last, `HUES`. */
export function huesOf(groups: readonly { group: string; size: number }[]): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const { group, size } of groups) {
    const finite = Number.isFinite(size) ? size : 0;
    sizes.set(group, Math.max(sizes.get(group) ?? 0, finite));
  }
  const largest = [...sizes].sort(([, a], [, b]) => b - a).slice(0, HUES);
  const own = new Set(largest.map(([group]) => group));
  let next = 0;
  return new Map([...sizes.keys()].map((group) => [group, own.has(group) ? next++ : HUES]));
}
