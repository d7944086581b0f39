/** The messages between a kernel and the list of its runs; the twin of `jax_debug_widgets/session/panel/listing.py`. */

import type { State } from "../../src/kit/states";

/** The name of the comm, see `jax_debug_widgets/widgets/listing.py`. */
export const TARGET = "jax_debug_widgets";

const VERSION = 1;

export interface RunRow {
  key: string;
  title: string;
  /** `paused` is at a stop of the debugger. */
  state: State;
  /** Seconds since the epoch. */
  started: number;
  /** Seconds. */
  elapsed: number;
  events: number;
  barrier: "off" | "idle" | "pending" | "drained" | "timeout" | "failed";
  /** The calls whose effects have not drained. */
  pending: string[];
  /** Seconds. */
  waited: number;
  /** How often it was written down, see `saved.ts`; not told by older kernels. */
  saved?: number;
}

export interface RunsMessage {
  type: "runs";
  version: number;
  /** All runs that the kernel knows, the newest last. */
  keys: string[];
  /** Those that changed. */
  runs: RunRow[];
  /** How the kernel is reached while a cell runs: `shell`, `control`, or `stdin` for neither. */
  way: string;
}

/** The panel's program and the comm it speaks by, for a page whose widgets must wait for the end of a cell. */
export interface PanelMessage {
  type: "panel";
  version: number;
  comm_id: string;
  way: string;
  text: string;
}

/** A run as a notebook keeps it: a MIME bundle. */
export interface SavedMessage {
  type: "saved";
  version: number;
  run: string;
  data: Readonly<Record<string, string>>;
}

type Message = RunsMessage | PanelMessage | SavedMessage;

export type Request =
  | { type: "list" }
  | { type: "panel" }
  | { type: "open"; run: string }
  | { type: "saved"; run: string }
  | { type: "barrier"; run: string };

/** The message in the data of a comm message; undefined for what is not for us, or not yet known to us. */
export function decode(data: unknown): Message | undefined {
  const content = (data as { content?: Partial<Message> } | null)?.content;
  const isRuns = content?.type === "runs" && Array.isArray(content.keys) && Array.isArray(content.runs);
  if (!isRuns && content?.type !== "panel" && content?.type !== "saved") return undefined;
  if (content.version !== VERSION)
    throw new Error("The kernel's jax_debug_widgets is not this page's: reload the page.");
  return content as Message;
}
