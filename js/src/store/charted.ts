/**
 * Chooses the watched values that the overview draws by default: gradients, sizes of updates, activations.
 * `session/run/charted.py` is its twin; both are tested on `tests/overview_cases.json`.
 */
import { kindOf, numbered, type Path, pathOf } from "./groups";
import type { WatchSite } from "./watched";

type Charted = Pick<WatchSite, "phase" | "values" | "function"> & {
  watch: Pick<WatchSite["watch"], "name" | "role" | "shape" | "dtype" | "primitive">;
};

/** A watched value, and its path in its pytree. */
export interface Leaf<Site> {
  site: Site;
  path: Path;
}

const LEAST_NAME = 3;
const NO_ACTIVATION = /grad|update|params|^opt|state$/i;

/** The leaves of a tree by `keyOf`. */
type Tree<Site> = Map<string, Leaf<Site>>;

const keyOf = ({ group, leaf }: Path) => `${group}/${leaf}`;

/**
 * Returns the gradients of parameters. If no parameter is known, returns those of all named arrays; if there are none,
 * those of named numbers.
 */
export function gradientLeaves<Site extends Charted>(sites: readonly Site[]): Leaf<Site>[] {
  const leaves = leavesOf(sites, "gradient");
  const [arrays, numbers]: [Leaf<Site>[], Leaf<Site>[]] = [[], []];
  for (const { site, path } of named(sites, "gradient")) {
    if (path.leaf === "" || kindOf(path.root) !== "parameter")
      (site.watch.shape.length > 0 ? arrays : numbers).push(asWhole(site, path));
    else leaves.push({ site, path });
  }
  // Gradients of numbers come last: such a gradient is usually that of the loss with respect to itself, 1.
  const parameters = distinguished(treesOf(leaves)).flatMap((tree) => [...tree.values()]);
  return [parameters, arrays, numbers].find((leaves) => leaves.length > 0) ?? [];
}

/** Pairs each update with the parameter that it is added to. */
export function ratioLeaves<Site extends Charted>(sites: readonly Site[]): { leaf: Leaf<Site>; of: Site }[] {
  const parameters = treesOf(leavesOf(sites, "parameter"));
  return distinguished(treesOf(leavesOf(sites, "update"))).flatMap((tree) => {
    const shared = parameters.filter((one) => sharedOf(one, tree).length > 0);
    const of = shared.find((one) => areAlike(one, tree)) ?? shared[0];
    return [...tree].flatMap(([key, leaf]) => {
      const parameter = of?.get(key);
      return parameter ? [{ leaf, of: parameter.site }] : [];
    });
  });
}

/** Returns the arrays that the forward pass computes. Several of them may have the same name. */
export function activationLeaves<Site extends Charted>(sites: readonly Site[]): Leaf<Site>[] {
  return named(sites, "value")
    .filter(({ site: { phase, values, watch }, path }) => {
      const isArray = watch.shape.length > 0 && /float/.test(watch.dtype) && values.includes("std");
      const isTree = path.leaf !== "" && kindOf(path.root) !== "";
      const isComputed = phase === "forward" && watch.primitive !== "argument";
      return isArray && isComputed && !isTree && !NO_ACTIVATION.test(path.root);
    })
    .map(({ site, path }) => asWhole(site, path));
}

function asWhole<Site extends Charted>(site: Site, { root }: Path): Leaf<Site> {
  return { site, path: { root, group: site.watch.name, leaf: "" } };
}

/** Returns the sites of a role that have a name, without values that are only recomputed. */
function named<Site extends Charted>(sites: readonly Site[], role: string): Leaf<Site>[] {
  return sites.flatMap((site) => {
    const path = site.watch.role === role && site.phase !== "recompute" ? pathOf(site.watch.name) : null;
    return path ? [{ site, path }] : [];
  });
}

/**
 * Returns the leaves of pytrees of this kind. A tree with a very short name counts only if it has leaves.
 */
function leavesOf<Site extends Charted>(
  sites: readonly Site[],
  kind: "gradient" | "update" | "parameter",
): Leaf<Site>[] {
  return named(sites, "value").filter(({ site, path }) => {
    const isSure = path.leaf || path.root.length >= LEAST_NAME || (kind === "gradient" && site.phase === "backward");
    return kindOf(path.root) === kind && isSure;
  });
}

/** Gathers leaves into trees by the variable and the function. Trees of the same structure and shapes are one tree. */
function treesOf<Site extends Charted>(leaves: readonly Leaf<Site>[]): Tree<Site>[] {
  const own = new Map<string, Tree<Site>>();
  for (const leaf of leaves) {
    const name = `${leaf.path.root} ${leaf.site.function}`;
    const tree = own.get(name) ?? new Map();
    own.set(name, tree);
    addTo(tree, keyOf(leaf.path), leaf);
  }
  const trees: Tree<Site>[] = [];
  for (const tree of own.values()) {
    const same = trees.find((one) => areAlike(one, tree));
    // Such as the gradients before and after clipping: the first ones are drawn.
    if (same) for (const [key, leaf] of tree) addTo(same, key, leaf);
    else trees.push(tree);
  }
  return trees;
}

function addTo<Site>(tree: Tree<Site>, key: string, leaf: Leaf<Site>): void {
  if (!tree.has(key)) tree.set(key, leaf);
}

function sharedOf<Site>(one: Tree<Site>, other: Tree<Site>): string[] {
  return [...one.keys()].filter((key) => other.has(key));
}

/** Whether two trees share paths, and have the same shapes there. */
function areAlike<Site extends Charted>(one: Tree<Site>, other: Tree<Site>): boolean {
  const shared = sharedOf(one, other);
  const shape = (tree: Tree<Site>, key: string) => tree.get(key)?.site.watch.shape.join();
  return shared.length > 0 && shared.every((key) => shape(one, key) === shape(other, key));
}

/** Puts the name of its tree before each leaf of trees that share paths, such as those of two networks. */
function distinguished<Site extends Charted>(trees: readonly Tree<Site>[]): Tree<Site>[] {
  const areShared = trees.map((tree) => trees.some((one) => one !== tree && sharedOf(one, tree).length > 0));
  const names = numbered(trees.map((tree, i) => (areShared[i] ? ([...tree.values()][0]?.path.root ?? "") : "")));
  return trees.map((tree, i) => {
    if (!areShared[i]) return tree;
    const below = ({ site, path }: Leaf<Site>) => {
      const dot = !path.group || path.group.startsWith("[") ? "" : ".";
      return { site, path: { ...path, group: `${names[i]}${dot}${path.group}` } };
    };
    return new Map([...tree].map(([key, leaf]) => [key, below(leaf)]));
  });
}
