/** The size of the gradient of the value over the steps, and what it is at the step. */
import { brief } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { WatchSite } from "../../store/watched";
import { seriesKey } from "../names/statistic";
import { badOf, norm, type Seen } from "../source/reading";
import { SeriesPlot } from "./OverSteps";
import { Section } from "./Section";

interface Props {
  run: RunStore;
  ui: UiState;
  site: WatchSite;
  found: Seen | null;
  dark: boolean;
}

export function Gradient({ run, ui, site, found, dark }: Props) {
  run.watch();
  const bad = found && badOf(found);
  const key = seriesKey(run, site, "l2");
  const inspect = (
    <button
      type="button"
      class="mini"
      title={`Inspect ∂ ${site.watch.name} itself`}
      onClick={() => {
        ui.value.value = site.id;
      }}
    >
      inspect
    </button>
  );
  return (
    <Section
      ui={ui}
      name="Gradient"
      about={
        <>
          ‖∂ {site.watch.name}‖ {found && <b class={bad ? "bad-text number" : "number"}>{bad || brief(norm(found))}</b>}
        </>
      }
      tools={inspect}
    >
      <SeriesPlot run={run} ui={ui} keys={key ? [key] : []} names={[`‖∂ ${site.watch.name}‖`]} dark={dark} />
    </Section>
  );
}
