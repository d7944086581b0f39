/** Counts the events of each site or device in each pixel of the timeline. */
import type { EventLog } from "../../store/events";
import type { Stretch } from "./axis";

/** The most events to count. If there are more, every n-th is counted. */
const MOST_LOOKED_AT = 200_000;

/** Returns the counts by id; each array has `width` elements. */
export function densityOf(
  log: EventLog,
  by: "site" | "device",
  { from, to }: Stretch,
  width: number,
): Map<number, Float32Array> {
  const found = new Map<number, Float32Array>();
  const start = log.atTime(from);
  const end = log.atTime(to) + 1;
  const step = Math.max(1, Math.ceil((end - start) / MOST_LOOKED_AT));
  const scale = width / (to - from);
  for (let position = start; position < Math.min(end, log.length); position += step) {
    if (log.gapCount(position) > 0) continue;
    const id = log[by](position);
    let bins = found.get(id);
    if (!bins) {
      bins = new Float32Array(width);
      found.set(id, bins);
    }
    const pixel = Math.floor((log.time(position) - from) * scale);
    if (pixel >= 0 && pixel < width) bins[pixel] = (bins[pixel] as number) + step;
  }
  return found;
}
