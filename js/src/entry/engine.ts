/**
 * The requests to the engines of an ipyparallel client. Requests that no user made are held back until all engines'
 * runs have ended.
 *
 * An engine answers nothing while its cell runs. In addition, the client's kernel forwards each message, and writes the
 * cell's further outputs to a place where the page does not look for them. Requests of the user are sent at once.
 */
import type { Request } from "../transport/wire";

/**
 * The longest time in which an engine reports that its run is active, or in which a cell's last outputs follow the end
 * of its run.
 */
const WAIT_MS = 3000;

/** The requests that the page sends without a user's action, or whose answer can wait until the run is over. */
const AUTOMATIC: readonly Request["type"][] = ["sync", "runs", "module"];

export class EngineRequests {
  /** All engines. Their cells run together, so their requests are held back together. */
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
    if (AUTOMATIC.includes(request.type)) {
      this.held.push(request);
      if (!EngineRequests.someMayGoOn) this.wait(); // The run may have just begun.
    } else this.send(request);
  }

  /** Notes whether a run of this engine is active. */
  setActive(goesOn: boolean): void {
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
    return [...EngineRequests.all].some((engine) => engine.mayGoOn);
  }

  private get mayGoOn(): boolean {
    return this.isWaiting || this.goesOn;
  }

  private static sendHeld(): void {
    if (EngineRequests.someMayGoOn) return;
    for (const engine of EngineRequests.all) for (const request of engine.held.splice(0)) engine.send(request);
  }
}
