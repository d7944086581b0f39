/** The widget model, which carries the messages of one kernel session. */
import type { Request } from "../transport/wire";
import type { ControlKernel } from "./control";

/**
 * The part of anywidget's model that we use. `comm_id` and `way` say how to reach a busy kernel. With the way `engine`,
 * a busy kernel cannot be reached.
 */
export interface Model {
  get(trait: "run" | "comm_id" | "way"): string;
  on(event: string, listener: (...args: never[]) => void): void;
  off(event: string, listener: (...args: never[]) => void): void;
  send(content: Request): void;
  /** Whether this is a stand-in. It came before the page's own model of the session, and is used instead of it. */
  readonly standsIn?: boolean;
  readonly widget_manager?: { readonly kernel?: ControlKernel };
}
