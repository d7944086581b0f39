/** How fast events came in each stretch of the run, and where values were not finite. */
import type { RunStore } from "../../store/run";

export interface PulseOf {
  /** Events per second. */
  speed: Float64Array;
  /** Stretches with a NaN or an infinity. */
  bad: Set<number>;
}

/** In `bins` stretches of equally many events. */
export function pulse(run: RunStore, bins: number): PulseOf {
  const { log } = run;
  const first = log.number(0);
  const events = Math.max(1, run.next - first);
  const positions = Array.from({ length: bins + 1 }, (_, bin) =>
    Math.min(log.length - 1, log.lowerBound(first + Math.floor((bin * events) / bins))),
  );
  const speed = new Float64Array(bins);
  for (let bin = 0; bin < bins; bin++) {
    const [from, to] = [positions[bin] as number, positions[bin + 1] as number];
    const took = log.time(to) - log.time(from);
    speed[bin] = took > 0 ? (to - from) / took : 0;
  }
  const bad = new Set<number>();
  const mark = (event: number) => bad.add(Math.min(bins - 1, Math.floor(((event - first) * bins) / events)));
  for (const event of run.watched.bad.view()) if (event >= first) mark(event);
  for (const series of run.series.all()) {
    for (const time of series.marks.time.view()) mark(log.number(log.atTime(time)));
  }
  return { speed, bad };
}
