/**
 * The names of a run as a tree: `grads` / `mlp` / `layers[0]`. Names without a path are grouped by their role, prints
 * are last.
 */
import { numbered } from "../../store/groups";
import { isWatched, type WatchSite } from "../../store/watched";
import { type Leaf, watchedLeaf } from "./leaf";

/** If there are more names, those with a path are folded at first. */
const MOST_OPEN = 40;
const PRINTS = "Prints";
/** The branches that are not paths. */
const ROOTS = new Set(["/Values", "/Gradients", `/${PRINTS}`]);
const PATH = /^[A-Za-z_]\w*(?=[.[])(?:\.[A-Za-z_]\w*|\[(?:"[^"]*"|'[^']*'|-?\d+)\])+$/;
const PART = /\.?([A-Za-z_]\w*)|\["([^"]*)"\]|\['([^']*)'\]|\[(-?\d+)\]/g;

export interface Branch {
  /** The unique key of the branch: `grads/mlp`. */
  key: string;
  label: string;
  branches: Map<string, Branch>;
  leaves: Leaf[];
}

/** A row of the list: a branch or a name. */
export interface NameRow {
  key: string;
  depth: number;
  label: string;
  /** The name of the row; null for a branch. */
  leaf: Leaf | null;
  branch: Branch | null;
  isOpen: boolean;
  /**
   * If several names of the branch are equal, the place that distinguishes them: `:6`, or with the file if the files
   * differ. Otherwise "".
   */
  place: string;
}

/** Splits `grads.mlp.layers[0]["w"]` into `grads`, `mlp`, `layers[0]`, `w`. A name that is not a path is one part. */
export function pathOf(name: string): string[] {
  if (!PATH.test(name)) return [name];
  const parts: string[] = [];
  for (const [, attribute, double, single, index] of name.matchAll(PART)) {
    const last = parts.length - 1;
    if (index !== undefined && last > 0) parts[last] += `[${index}]`;
    else parts.push(attribute ?? double ?? single ?? `[${index}]`);
  }
  return parts;
}

/** Returns the tree, with names without a path first. */
export function treeOf(sites: readonly WatchSite[], printed: readonly Leaf[] = []): Branch[] {
  const top = branchOf("", "");
  for (const label of ["Values", "Gradients"]) inside(top, label);
  for (const site of sites) {
    const isGradient = site.watch.role === "gradient";
    const path = pathOf(site.watch.name);
    const [root = "", ...inner] = path;
    const head = path.length === 1 ? (isGradient ? "Gradients" : "Values") : `${isGradient ? "∂ " : ""}${root}`;
    let branch = top;
    for (const label of [head, ...inner.slice(0, -1)]) branch = inside(branch, label);
    branch.leaves.push(watchedLeaf(site));
  }
  inside(top, PRINTS).leaves.push(...printed);
  return [...top.branches.values()].filter(({ branches, leaves }) => branches.size + leaves.length > 0);
}

function branchOf(key: string, label: string): Branch {
  return { key, label, branches: new Map(), leaves: [] };
}

function inside(branch: Branch, label: string): Branch {
  const found = branch.branches.get(label) ?? branchOf(`${branch.key}/${label}`, label);
  branch.branches.set(label, found);
  return found;
}

export function leavesOf({ branches, leaves }: Branch): Leaf[] {
  return [...leaves, ...[...branches.values()].flatMap(leavesOf)];
}

/**
 * Returns the visible rows. `turned` are the branches that the user has folded or opened. `wanted` are words: a name
 * matches if it, its scope and its place have all of them; `gradient` is a word of each gradient. Branches with a match are open.
 */
export function rowsOf(tree: readonly Branch[], turned: ReadonlySet<string>, wanted = ""): NameRow[] {
  const all = tree.reduce((sum, branch) => sum + leavesOf(branch).length, 0);
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const rows: NameRow[] = [];
  const add = (branch: Branch, depth: number) => {
    const isPath = depth > 0 || !ROOTS.has(branch.key);
    const isOpen = words.length > 0 || turned.has(branch.key) !== (all <= MOST_OPEN || !isPath);
    const head = rows.push({
      key: branch.key,
      depth,
      label: branch.label,
      leaf: null,
      branch,
      isOpen,
      place: "",
    });
    if (!isOpen) return;
    const found = branch.leaves.filter((leaf) => words.every((word) => textOf(leaf).includes(word)));
    const alike = new Map<string, Leaf[]>();
    for (const leaf of found) {
      const label = labelOf(leaf);
      alike.get(label)?.push(leaf) ?? alike.set(label, [leaf]);
    }
    for (const leaf of found) {
      const label = labelOf(leaf);
      const place = placeAmong(alike.get(label) ?? [], leaf);
      rows.push({ key: leaf.key, depth: depth + 1, label, leaf, branch: null, isOpen: false, place });
    }
    for (const inner of branch.branches.values()) add(inner, depth + 1);
    if (words.length > 0 && rows.length === head) rows.pop();
  };
  for (const branch of tree) add(branch, 0);
  return rows;
}

/** Returns what distinguishes a name from equal names: its line, its process, or both. */
function placeAmong(alike: readonly Leaf[], leaf: Leaf): string {
  if (alike.length < 2) return "";
  const isInOneFile = alike.every(({ site }) => site.file === leaf.site.file);
  const lines = alike.map(({ site }) => (isInOneFile ? `:${site.line}` : site.where));
  const processes = alike.map(({ site }) => `process ${site.process}`);
  const distinct = [lines, processes].filter((words) => new Set(words).size > 1);
  const words = distinct.length > 0 ? distinct : [lines];
  return numbered(alike.map((_, i) => words.map((each) => each[i]).join(" ")))[alike.indexOf(leaf)] as string;
}

function labelOf({ name, site }: Leaf): string {
  const path = isWatched(site) ? pathOf(site.watch.name) : [];
  return path.length > 1 ? (path.at(-1) as string) : name;
}

function textOf({ name, site }: Leaf): string {
  const { watch } = site;
  return `${name} ${watch?.role === "gradient" ? "gradient" : ""} ${watch?.scope ?? site.function} ${site.where}`.toLowerCase();
}
