/**
 * Numbers the requests to the kernel and passes each answer to its caller. `transport/requests.py` is the kernel's
 * half.
 */
import { type Message, type Request, type RequestBody, VERSION } from "./wire";

export type Answer = (message: Message) => void;

export class Channel {
  private lastId = 0;
  private readonly waiting = new Map<number, Answer>();

  constructor(private readonly send: (request: Request) => void) {}

  /** Sends a request and does not wait. The answer may come only after the cell has ended, or never. */
  request(body: RequestBody, answer?: Answer): void {
    const id = ++this.lastId;
    if (answer) this.waiting.set(id, answer);
    try {
      this.send({ ...body, id });
    } catch {
      // The comm of a kernel that restarts or has ended throws.
      this.settle({ type: "error", version: VERSION, run: body.run, id, message: "The kernel is gone." });
    }
  }

  /** If `message` answers a request, passes it to the caller of that request. */
  settle(message: Message): void {
    if (!("id" in message) || message.id === undefined) return;
    const answer = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    answer?.(message);
  }
}

/** Returns the text of an error message; "" for any other message. */
export function problemOf(message: Message): string {
  return message.type === "error" ? message.message : "";
}
