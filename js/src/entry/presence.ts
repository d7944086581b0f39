/**
 * Tells the kernel that somebody can see a stop. Otherwise the kernel lets the program go on, so that nothing hangs.
 */

const REPEAT_MS = 15_000;

export class Presence {
  private readonly timers = new Map<string, { stop: number; timer: ReturnType<typeof setInterval> }>();

  constructor(private readonly send: (run: string, stop: number) => void) {}

  /** Notes the stop of a run; undefined if the run is not at a stop. */
  update(run: string, stop: number | undefined): void {
    const known = this.timers.get(run);
    if (known?.stop === stop) return;
    clearInterval(known?.timer);
    this.timers.delete(run);
    if (stop === undefined) return;
    const here = () => this.send(run, stop);
    here();
    this.timers.set(run, { stop, timer: setInterval(here, REPEAT_MS) });
  }

  end(): void {
    for (const { timer } of this.timers.values()) clearInterval(timer);
    this.timers.clear();
  }
}
