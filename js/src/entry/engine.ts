/**
 * The requests to the engines of an ipyparallel client. Those that the page makes by itself wait until the engines' runs are over.
 *
 * An engine answers nothing while its cell runs. And a message for it, which the client's kernel hands on, makes that kernel
 * write the cell's further outputs where the page does not look for them. What the user asks for is sent at once.
 */
import type { Request } from "../transport/wire";

/** So long an engine whose run goes on may take to say so, and the last outputs of a cell after the end of its run. */
const WAIT_MS = 3000;

/** What the page asks without a user. */
const BY_ITSELF: readonly Request["type"][] = ["sync", "runs"];

export class EngineRequests {
  /** Those of all engines: their cells run together. */
  private static readonly all = new Set<EngineRequests>();
  private readonly held: Request[] = [];
  private isWaiting = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private goesOn = false;

  constructor(private readonly send: (request: Request) => void) {
    EngineRequests.all.add(this);
    this.wait();
  }

  request(request: Request): void {
    if (BY_ITSELF.includes(request.type)) {
      this.held.push(request);
      if (!EngineRequests.someMayGoOn) this.wait(); // It may be about a run that has just begun.
    } else this.send(request);
  }

  /** Whether a run of this engine goes on, as it has just said. */
  told(goesOn: boolean): void {
    if (this.goesOn && !goesOn) this.wait();
    this.goesOn = goesOn;
  }

  end(): void {
    clearTimeout(this.timer);
    EngineRequests.all.delete(this);
    EngineRequests.sendHeld();
  }

  private wait(): void {
    clearTimeout(this.timer);
    this.isWaiting = true;
    this.timer = setTimeout(() => {
      this.isWaiting = false;
      EngineRequests.sendHeld();
    }, WAIT_MS);
  }

  private static get someMayGoOn(): boolean {
    return [...EngineRequests.all].some((one) => one.mayGoOn);
  }

  private get mayGoOn(): boolean {
    return this.isWaiting || this.goesOn;
  }

  private static sendHeld(): void {
    if (EngineRequests.someMayGoOn) return;
    for (const one of EngineRequests.all) for (const request of one.held.splice(0)) one.send(request);
  }
}
