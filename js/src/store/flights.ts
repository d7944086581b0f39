/**
 * How long programs ran: a call by itself, or several that were in flight together, which a device runs one after the other.
 * The twin of `session/run/call_sequences.py`, which says which calls these are.
 */
import type { CallMessage } from "../transport/wire";

/** Seconds, the mean of so many calls. */
export interface Ran {
  seconds: number;
  of: number;
}

export class Flights {
  /** Of each thread's flights, by when they began, the last call that is over. */
  private readonly last = new Map<string, { rank: number; ready: number }>();

  add(call: CallMessage): void {
    const { flight, ready } = call;
    if (!flight || ready === null) return;
    const key = keyOf(call);
    const known = this.last.get(key);
    if (!known || known.rank < flight[1])
      this.last.set(key, { rank: flight[1], ready: Math.max(ready, known?.ready ?? 0) });
  }

  /** Null where nothing tells how long it took. */
  ran(call: CallMessage): Ran | null {
    const { flight } = call;
    const last = flight && this.last.get(keyOf(call));
    if (!flight || !last || last.rank < flight[2]) return null;
    return { seconds: (last.ready - flight[0]) / last.rank, of: last.rank };
  }
}

function keyOf({ thread, flight }: CallMessage): string {
  return `${thread} ${flight?.[0]}`;
}
