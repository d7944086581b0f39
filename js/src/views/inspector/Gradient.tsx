/** The norm of the value's gradient at the shown step and over the steps. */
import { brief } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { WatchSite } from "../../store/watched";
import { seriesKey } from "../names/statistic";
import { badOf, norm, type Seen } from "../source/reading";
import { Curves } from "./OverSteps";
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
  const name = `‖∂ ${site.watch.name}‖`;
  const curves = run.watched
    .plotted(key ? [key] : [])
    .map((series) => ({ series, name, ghosts: [], isPrinted: false }));
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
          <bdi dir="ltr">{name}</bdi>{" "}
          {found && <b class={bad ? "bad-text number" : "number"}>{bad || brief(norm(found))}</b>}
        </>
      }
      tools={inspect}
    >
      <Curves run={run} ui={ui} curves={curves} dark={dark} />
    </Section>
  );
}
