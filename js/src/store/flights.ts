/**
 * Measures how long programs ran: one call, or the mean of several calls that were in flight together, because a device
 * runs calls one after the other. `session/run/call_sequences.py` is its twin and decides which calls these are.
 */
import type { CallMessage } from "../transport/wire";

/** The mean time of `of` calls, in seconds. */
export interface Ran {
  seconds: number;
  of: number;
}

export class Flights {
  /** For each thread and start of a flight, the last finished call. */
  private readonly last = new Map<string, { rank: number; ready: number }>();

  add(call: CallMessage): void {
    const { flight, ready } = call;
    if (!flight || ready === null) return;
    const key = keyOf(call);
    const known = this.last.get(key);
    if (!known || known.rank < flight[1])
      this.last.set(key, { rank: flight[1], ready: Math.max(ready, known?.ready ?? 0) });
  }

  /** Returns null if the time is not known. */
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
