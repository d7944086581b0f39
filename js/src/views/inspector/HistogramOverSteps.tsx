/**
 * Histograms of the elements over the steps: by magnitude if `--histogram` recorded them, otherwise of the recorded
 * arrays.
 */
import type { RunStore } from "../../store/run";
import type { WatchSite } from "../../store/watched";
import { Spread } from "../arrays/Spread";
import { siteName } from "../sites/name";
import { Bars } from "../source/Bars";
import { Magnitudes } from "./Magnitudes";
import { Section } from "./Section";
import type { PartProps } from "./Whole";

export function Histogram({ run, ui, site, found, dark }: PartProps) {
  run.watch();
  const isCounted = found?.table.has("hist +0");
  if (!isCounted && !(site.watch.full && site.watch.shape.length > 0)) return null;
  return (
    <Section ui={ui} name="Histogram over steps" about={found && isCounted ? <Bars site={site} found={found} /> : ""}>
      {found && isCounted ? (
        <Magnitudes run={run} ui={ui} site={site} found={found} newest={run.watched.received} dark={dark} />
      ) : (
        <Spread key={site.id} run={run} ui={ui} array={arrayOf(run, site)} dark={dark} />
      )}
    </Section>
  );
}

function arrayOf(run: RunStore, site: WatchSite) {
  const value = site.values.length - 1;
  const { shape, dtype } = site.watch;
  return { key: `${site.id}/${value}`, site, value, name: siteName(run, site, site.values[value]), shape, dtype };
}
