/** The messages between a kernel and the list of its runs; the twin of `jax_debug_widgets/session/panel/listing.py`. */

import type { Compared, RunRow } from "../../src/store/rows";

/** The name of the comm, see `jax_debug_widgets/widgets/listing.py`. */
export const TARGET = "jax_debug_widgets";

const VERSION = 1;

export type { RunRow };

export interface RunsMessage {
  type: "runs";
  version: number;
  /** The keys of all runs that the kernel knows, the newest last. */
  keys: string[];
  /** The runs that have changed. */
  runs: RunRow[];
  /**
   * How to reach the kernel while a cell runs: `shell`, `control`, or `stdin` if neither works; `engine` for an engine
   * of ipyparallel.
   */
  way: string;
}

/** The panel's module and the id of its comm, for a page whose widgets must wait for the end of a cell. */
export interface PanelMessage {
  type: "panel";
  version: number;
  comm_id: string;
  way: string;
  text: string;
}

/** A run as a notebook stores it: a MIME bundle. */
export interface SavedMessage {
  type: "saved";
  version: number;
  run: string;
  data: Readonly<Record<string, string>>;
}

/** The comparison of runs, or the reason why there is none. */
export interface ComparedMessage extends Compared {
  type: "compared";
  version: number;
  id: number;
  problem?: string;
}

/** The answer to a request to load a file; `problem` is "" if its runs were loaded. */
export interface LoadedMessage {
  type: "loaded";
  version: number;
  id: number;
  problem: string;
}

type Message = RunsMessage | PanelMessage | SavedMessage | ComparedMessage | LoadedMessage;

const KINDS = ["panel", "saved", "compared", "loaded"];

export type Request =
  | { type: "list" }
  | { type: "panel" }
  | { type: "open"; run: string }
  | { type: "saved"; run: string }
  | { type: "barrier"; run: string }
  | { type: "rename"; run: string; name: string }
  | { type: "compare"; id: number; runs: string[] }
  | { type: "load"; id: number; path: string };

/** Returns the message in the data of a comm message; undefined if it is not for us or of an unknown type. */
export function decode(data: unknown): Message | undefined {
  const content = (data as { content?: Partial<Message> } | null)?.content;
  const isRuns = content?.type === "runs" && Array.isArray(content.keys) && Array.isArray(content.runs);
  if (!isRuns && !KINDS.includes(content?.type ?? "")) return undefined;
  if (content?.version !== VERSION)
    throw new Error("The kernel has another version of jax_debug_widgets than this page: reload the page.");
  return content as Message;
}
