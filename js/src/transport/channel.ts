/** Numbers the requests to the kernel and hands each answer to who asked. The other half is `transport/requests.py`. */
import { type Message, type Request, type RequestBody, VERSION } from "./wire";

export type Answer = (message: Message) => void;

export class Channel {
  private lastId = 0;
  private readonly waiting = new Map<number, Answer>();

  constructor(private readonly send: (request: Request) => void) {}

  /** The answer may come only after the cell has ended, or never: nothing here waits for it. */
  request(body: RequestBody, answer?: Answer): void {
    const id = ++this.lastId;
    if (answer) this.waiting.set(id, answer);
    try {
      this.send({ ...body, id });
    } catch {
      // The comm of a kernel that restarts, or has ended, takes no messages.
      this.settle({ type: "error", version: VERSION, run: body.run, id, message: "The kernel is gone." });
    }
  }

  /** Gives `message` to who asked for it, if it answers a request. */
  settle(message: Message): void {
    if (!("id" in message) || message.id === undefined) return;
    const answer = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    answer?.(message);
  }
}

/** What went wrong, "" for nothing. */
export function problemOf(message: Message): string {
  return message.type === "error" ? message.message : "";
}
