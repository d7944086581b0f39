/** The completions of the filter: fields and values that occur in this run. */
import { plain } from "../../kit/escapes";
import { FIELDS } from "../../store/query";
import type { RunStore } from "../../store/run";

/** A term that can replace the word being typed. */
export interface Completion {
  term: string;
  /** Describes the events that the term leaves. */
  words: string;
  /** Whether the term is a field that needs a value. */
  isField: boolean;
}

const WORDS: Readonly<Record<(typeof FIELDS)[number], string>> = {
  name: "the name of a print or value, or its place in the code",
  step: "a step, or 10-20",
  lane: "one lane of a vmap",
  device: "a device",
  phase: "forward, backward, recompute",
  kind: "print, callback; ordered or not",
  process: "a process of the job",
  call: "a call, by its function or its number",
  in: "scan, vmap, …",
};
const MOST = 12;
const TYPED = /(-?)([\w<>.]*)(?::(\S*))?$/;

/** Returns the completions of the last word of `text`. */
export function completionsOf(run: RunStore, text: string): Completion[] {
  const [, minus = "", word = "", after] = TYPED.exec(text) ?? [];
  const values = valuesOf(run);
  const valueTerms = (field: string, typed: string) =>
    [...(values.get(field) ?? [])]
      .filter(([value]) => value.toLowerCase().includes(typed.toLowerCase()))
      .map(([value, words]) => ({ term: `${minus}${field}:${value}`, words, isField: false }));
  if (after !== undefined) {
    const field = word === "site" ? "name" : word;
    return [...(field === "step" ? stepTerms(minus, after) : []), ...valueTerms(field, after)].slice(0, MOST);
  }
  const fields = FIELDS.filter((field) => field.startsWith(word) && (values.get(field)?.size ?? 0) > 0);
  const named =
    word === "" ? [] : [...values.keys()].flatMap((field) => (field === "step" ? [] : valueTerms(field, word)));
  const fieldTerms = fields.map((field) => ({ term: `${minus}${field}:`, words: WORDS[field], isField: true }));
  return [...fieldTerms, ...named].slice(0, MOST);
}

/** Returns the text with its last word replaced. */
export function completed(text: string, term: string): string {
  return text.replace(TYPED, term);
}

function stepTerms(minus: string, typed: string): Completion[] {
  const from = /^\d+$/.exec(typed)?.[0];
  if (from === undefined) return [];
  return [
    { term: `${minus}step:${from}`, words: "this step alone", isField: false },
    { term: `${minus}step:${from}-`, words: `from step ${from} on`, isField: false },
    { term: `${minus}step:-${from}`, words: `up to step ${from}`, isField: false },
  ];
}

/** Returns, for each field, the values in this run, each with a description. */
function valuesOf(run: RunStore): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>(FIELDS.map((field) => [field, new Map()]));
  const add = (field: string, value: string, words = "") => {
    if (value !== "" && !/\s/.test(value) && !found.get(field)?.has(value)) found.get(field)?.set(value, words);
  };
  for (const site of run.streamSites) {
    const [name = ""] = plain(site.label).trim().split(/\s+/);
    add("name", name, site.where);
    add("phase", site.phase);
    add("kind", site.kind);
    add("kind", site.ordered ? "ordered" : "unordered");
    for (const transform of site.transforms) add("in", transform);
    for (let lane = 0; lane < Math.min(run.lanes.get(site.id) ?? 0, MOST); lane++) add("lane", String(lane));
  }
  // A value that all lines have would filter nothing.
  for (const field of ["phase", "kind"]) if (found.get(field)?.size === 1) found.get(field)?.clear();
  const first = run.log.length > 0 ? steps(run) : null;
  if (first) {
    add("step", String(first.last), "the newest");
    add("step", `0-${first.last}`, "all");
  }
  for (const device of run.devices) add("device", device);
  for (const { number } of run.status?.processes ?? []) add("process", String(number));
  for (const call of run.calls.values()) add("call", call.name, "all calls of it");
  return found;
}

/** Returns the step of the newest line that has one. */
function steps({ log, merged: { positions } }: RunStore): { last: number } | null {
  for (let i = positions.length - 1; i >= 0 && positions.length - i < 1000; i--) {
    const last = log.step(positions.at(i));
    if (last >= 0) return { last };
  }
  return null;
}
