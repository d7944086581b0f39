/**
 * Which watched values an overview draws without being asked: gradients, sizes of updates, activations.
 * `session/run/charted.py` is its twin; both are tested on `tests/overview_cases.json`.
 */
import { kindOf, type Path, pathOf } from "./groups";
import type { WatchSite } from "./watched";

type Charted = Pick<WatchSite, "phase" | "values"> & {
  watch: Pick<WatchSite["watch"], "name" | "role" | "shape" | "dtype" | "primitive">;
};

/** A value, and where it stands in its tree. */
export interface Leaf<Site> {
  site: Site;
  path: Path;
}

const LEAST_NAME = 3;
const NO_ACTIVATION = /grad|update|params|^opt|state$/i;

const keyOf = ({ group, leaf }: Path) => `${group}/${leaf}`;

/** Those of parameters; where none is known as such, of all named arrays, and without these of numbers. */
export function gradientLeaves<Site extends Charted>(sites: readonly Site[]): Leaf<Site>[] {
  const parameters = new Map(leavesOf(sites, "gradient").map((leaf) => [keyOf(leaf.path), leaf]));
  const [arrays, numbers]: [Leaf<Site>[], Leaf<Site>[]] = [[], []];
  for (const { site, path } of named(sites, "gradient")) {
    const key = keyOf(path);
    if (path.leaf === "" || kindOf(path.root) !== "parameter")
      (site.watch.shape.length > 0 ? arrays : numbers).push(asWhole(site, path));
    else if (!parameters.has(key)) parameters.set(key, { site, path });
  }
  // The gradient of a number is mostly that of the loss by itself, 1.
  return [[...parameters.values()], arrays, numbers].find((one) => one.length > 0) ?? [];
}

/** Each update with the parameter that it is added to. */
export function ratioLeaves<Site extends Charted>(sites: readonly Site[]): { leaf: Leaf<Site>; of: Site }[] {
  const parameters = new Map(leavesOf(sites, "parameter").map(({ site, path }) => [keyOf(path), site]));
  return leavesOf(sites, "update").flatMap((leaf) => {
    const of = parameters.get(keyOf(leaf.path));
    return of ? [{ leaf, of }] : [];
  });
}

/** The arrays that the program computes on its way forward; several may have one name. */
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

/** What is called by a name, and is not only computed again. */
function named<Site extends Charted>(sites: readonly Site[], role: string): Leaf<Site>[] {
  return sites.flatMap((site) => {
    const path = site.watch.role === role && site.phase !== "recompute" ? pathOf(site.watch.name) : null;
    return path ? [{ site, path }] : [];
  });
}

/** The leaves of trees of that kind, the first of each path; a tree of a short name is one where it has parts. */
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
