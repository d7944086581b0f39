/** The messages between a kernel and the list of its runs; the twin of `jax_debug_widgets/session/listing.py`. */

/** The name of the comm, see `jax_debug_widgets/widgets/listing.py`. */
export const TARGET = "jax_debug_widgets";

const VERSION = 1;

export interface RunRow {
  key: string;
  title: string;
  /** `paused` is at a stop of the debugger. */
  state: "running" | "paused" | "waiting" | "done" | "failed";
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
}

export interface RunsMessage {
  type: "runs";
  version: number;
  /** All runs that the kernel knows, the newest last. */
  keys: string[];
  /** Those that changed. */
  runs: RunRow[];
}

export type Request = { type: "list" } | { type: "open"; run: string } | { type: "barrier"; run: string };

/** The message in the data of a comm message; undefined for what is not for us, or not yet known to us. */
export function decode(data: unknown): RunsMessage | undefined {
  const content = (data as { content?: Partial<RunsMessage> } | null)?.content;
  if (content?.type !== "runs" || !Array.isArray(content.keys) || !Array.isArray(content.runs)) return undefined;
  if (content.version !== VERSION)
    throw new Error("The kernel's jax_debug_widgets is not this page's: reload the page.");
  return content as RunsMessage;
}
