/** What carries the messages of one kernel session. */
import type { Request } from "../transport/wire";
import type { ControlKernel } from "./control";

/** What we use of anywidget's model; `comm_id` and `way` say how to reach a kernel that is busy; an `engine` cannot be. */
export interface Model {
  get(trait: "run" | "comm_id" | "way"): string;
  on(event: string, listener: (...args: never[]) => void): void;
  off(event: string, listener: (...args: never[]) => void): void;
  send(content: Request): void;
  /** It has come before the page's own model of the session, and stays in its place. */
  readonly standsIn?: boolean;
  readonly widget_manager?: { readonly kernel?: ControlKernel };
}
