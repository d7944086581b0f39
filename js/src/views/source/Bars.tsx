/** A small histogram of magnitudes, with the negative values on the left. */
import type { WatchSite } from "../../store/watched";
import { barsOf, inWords } from "../inspector/histogram";
import type { Seen } from "./reading";

interface Props {
  site: WatchSite;
  found: Seen;
}

export function Bars({ site, found }: Props) {
  const bars = barsOf(site.values);
  const counts = bars.map(({ name }) => found.get(name));
  const most = Math.max(...counts);
  if (!(most > 0)) return null;
  const words = `Magnitudes from: ${inWords(bars, found.get)}`;
  const path = (isNegative: boolean) =>
    bars
      .map((bar, i) => (bar.isNegative === isNegative ? `M${i} 1V${1 - (counts[i] as number) / most}h1V1` : ""))
      .join("");
  return (
    <svg class="bars" viewBox={`0 0 ${bars.length} 1`} preserveAspectRatio="none" role="img" aria-label={words}>
      <title>{words}</title>
      <path class="bars-negative" d={path(true)} />
      <path d={path(false)} />
    </svg>
  );
}
