/**
 * Chooses the watched values that the overview draws by default: gradients, sizes of updates, activations.
 * `session/run/charted.py` is its twin; both are tested on `tests/overview_cases.json`.
 */
import { kindOf, type Path, pathOf } from "./groups";
import type { WatchSite } from "./watched";

type Charted = Pick<WatchSite, "phase" | "values"> & {
  watch: Pick<WatchSite["watch"], "name" | "role" | "shape" | "dtype" | "primitive">;
};

/** A watched value, and its path in its pytree. */
export interface Leaf<Site> {
  site: Site;
  path: Path;
}

const LEAST_NAME = 3;
const NO_ACTIVATION = /grad|update|params|^opt|state$/i;

const keyOf = ({ group, leaf }: Path) => `${group}/${leaf}`;

/**
 * Returns the gradients of parameters. If no parameter is known, returns those of all named arrays; if there are none,
 * those of named numbers.
 */
export function gradientLeaves<Site extends Charted>(sites: readonly Site[]): Leaf<Site>[] {
  const parameters = new Map(leavesOf(sites, "gradient").map((leaf) => [keyOf(leaf.path), leaf]));
  const [arrays, numbers]: [Leaf<Site>[], Leaf<Site>[]] = [[], []];
  for (const { site, path } of named(sites, "gradient")) {
    const key = keyOf(path);
    if (path.leaf === "" || kindOf(path.root) !== "parameter")
      (site.watch.shape.length > 0 ? arrays : numbers).push(asWhole(site, path));
    else if (!parameters.has(key)) parameters.set(key, { site, path });
  }
  // Gradients of numbers come last: such a gradient is usually that of the loss with respect to itself, 1.
  return [[...parameters.values()], arrays, numbers].find((leaves) => leaves.length > 0) ?? [];
}

/** Pairs each update with the parameter that it is added to. */
export function ratioLeaves<Site extends Charted>(sites: readonly Site[]): { leaf: Leaf<Site>; of: Site }[] {
  const parameters = new Map(leavesOf(sites, "parameter").map(({ site, path }) => [keyOf(path), site]));
  return leavesOf(sites, "update").flatMap((leaf) => {
    const parameter = parameters.get(keyOf(leaf.path));
    return parameter ? [{ leaf, of: parameter }] : [];
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
 * Returns the leaves of pytrees of this kind, the first site of each path. A tree with a very short name counts only if
 * it has leaves.
 */
function leavesOf<Site extends Charted>(
  sites: readonly Site[],
  kind: "gradient" | "update" | "parameter",
): Leaf<Site>[] {
  const found = new Map<string, Leaf<Site>>();
  for (const leaf of named(sites, "value")) {
    const { site, path } = leaf;
    const isSure = path.leaf || path.root.length >= LEAST_NAME || (kind === "gradient" && site.phase === "backward");
    if (kindOf(path.root) === kind && isSure && !found.has(keyOf(path))) found.set(keyOf(path), leaf);
  }
  return [...found.values()];
}
