/** Beside the code: what a print or a callback said at the step that is looked at, as a picture, and over the steps. */
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { SiteMessage } from "../../transport/wire";
import { ArrayAtStep } from "../arrays/Arrays";
import { arraysOf } from "../arrays/values";
import { ChartTools } from "../plots/ChartTools";
import { Plot } from "../plots/Plot";
import { siteName } from "../sites/name";
import { Close } from "./Close";
import { lookOf } from "./OverSteps";
import { Section } from "./Section";

interface Props {
  run: RunStore;
  ui: UiState;
  site: SiteMessage;
  dark: boolean;
}

export function PrintInspector({ run, ui, site, dark }: Props) {
  run.watch();
  const arrays = arraysOf(run, site);
  const array = arrays.find(({ key }) => key === ui.array.value) ?? arrays[0];
  const series = run.series.all().filter((one) => one.site === site.id);
  const look = lookOf(run, ui);
  return (
    <aside class="inspector" aria-label="Inspector" data-testid="inspect" data-site={site.id}>
      <Head run={run} ui={ui} site={site} />
      {array && (
        <Section ui={ui} name="Value">
          <div class="arrays">
            <ArrayAtStep key={array.key} run={run} ui={ui} dark={dark} array={array} arrays={arrays} />
          </div>
        </Section>
      )}
      {series.length > 0 && (
        <Section ui={ui} name="Over steps">
          <div class="chart-tools">
            <ChartTools ui={ui} view="inspector" />
          </div>
          <Plot run={run} ui={ui} all={series} ghosts={[]} plotKey={`print ${site.id}`} look={look} dark={dark} />
        </Section>
      )}
    </aside>
  );
}

function Head({ run, ui, site }: Omit<Props, "dark">) {
  const lines = () => {
    ui.site.value = site.id;
    ui.tab.value = "streams";
  };
  return (
    <header class="inspector-head">
      <div class="inspector-title">
        <div class="inspector-name">
          <b class="mono">{siteName(run, site)}</b>
          <span class="muted">{site.where}</span>
        </div>
        <button type="button" class="toggle" data-testid="print-lines" title="Show what it printed" onClick={lines}>
          lines
        </button>
        <Close ui={ui} />
      </div>
    </header>
  );
}
