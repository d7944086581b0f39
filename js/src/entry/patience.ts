/**
 * Holds what the page asks of the engines of an ipyparallel client by itself, until their runs are over.
 *
 * An engine answers nothing while its cell runs. And a message for it, which the client's kernel hands on, makes that kernel
 * write the cell's further outputs where the page does not look for them. What the user asks for is sent at once.
 */
import type { Request } from "../transport/wire";

/** So long an engine whose run goes on may take to say so, and the last outputs of a cell after the end of its run. */
const WAIT_MS = 3000;

const BY_ITSELF: readonly Request["type"][] = ["sync", "runs"];

export class Patience {
  /** Those of all engines: their cells run together. */
  private static readonly all = new Set<Patience>();
  private readonly held: Request[] = [];
  private isWaiting = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private goesOn = false;

  constructor(private readonly send: (request: Request) => void) {
    Patience.all.add(this);
    this.wait();
  }

  request(request: Request): void {
    if (BY_ITSELF.includes(request.type)) {
      this.held.push(request);
      if (!Patience.isNeeded) this.wait(); // It may be about a run that has just begun.
    } else this.send(request);
  }

  /** Whether a run of this engine goes on, as it has just said. */
  told(goesOn: boolean): void {
    if (this.goesOn && !goesOn) this.wait();
    this.goesOn = goesOn;
  }

  end(): void {
    clearTimeout(this.timer);
    Patience.all.delete(this);
    Patience.letGo();
  }

  private wait(): void {
    clearTimeout(this.timer);
    this.isWaiting = true;
    this.timer = setTimeout(() => {
      this.isWaiting = false;
      Patience.letGo();
    }, WAIT_MS);
  }

  private static get isNeeded(): boolean {
    return [...Patience.all].some((one) => one.mayGoOn);
  }

  private get mayGoOn(): boolean {
    return this.isWaiting || this.goesOn;
  }

  private static letGo(): void {
    if (Patience.isNeeded) return;
    for (const one of Patience.all) for (const request of one.held.splice(0)) one.send(request);
  }
}
