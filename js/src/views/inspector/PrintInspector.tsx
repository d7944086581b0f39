/** The inspector of a print or callback: its values at the shown step and over the steps, and their histograms. */
import { inspect } from "../../store/cursor";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { SiteMessage } from "../../transport/wire";
import { Spread } from "../arrays/Spread";
import { arraysOf, typeName } from "../arrays/values";
import { inspectedKey, leafOf, partsOf } from "../names/leaf";
import { siteName } from "../sites/name";
import { Close } from "./Close";
import { OverSteps } from "./OverSteps";
import { PrintedArray } from "./PrintedArray";
import { Section } from "./Section";

interface Props {
  run: RunStore;
  ui: UiState;
  site: SiteMessage;
  dark: boolean;
}

export function PrintInspector({ run, ui, site, dark }: Props) {
  run.watch();
  const own = inspectedKey(run, ui);
  const array = arraysOf(run, site).find(({ key }) => key === own);
  return (
    <aside class="inspector" aria-label="Inspector" data-testid="inspect" data-site={site.id}>
      <Head run={run} ui={ui} site={site} own={own} />
      {array && <PrintedArray key={own} run={run} ui={ui} array={array} dark={dark} />}
      <OverSteps run={run} ui={ui} own={own} dark={dark} />
      {array && (
        <Section ui={ui} name="Histogram over steps">
          <Spread key={own} run={run} ui={ui} array={array} dark={dark} />
        </Section>
      )}
    </aside>
  );
}

function Head({ run, ui, site, own }: Omit<Props, "dark"> & { own: string }) {
  const lines = () => {
    ui.site.value = site.id;
    ui.tab.value = "streams";
  };
  const leaf = leafOf(run, own);
  const value = leaf?.value ?? 0;
  return (
    <header class="inspector-head">
      <div class="inspector-title">
        <div class="inspector-name">
          <b class="mono">{leaf?.name}</b>
          <span class="mono muted">{typeName(site.dtypes[value] ?? "", site.shapes[value] ?? [])}</span>
          <span class="muted">{site.where}</span>
          {partsOf(run, site).length > 1 && <ValueChoice run={run} ui={ui} site={site} value={value} />}
        </div>
        <button type="button" class="toggle" data-testid="print-lines" title="Show what it printed" onClick={lines}>
          lines
        </button>
        <Close ui={ui} />
      </div>
    </header>
  );
}

/** Selects one of the values of the print. */
function ValueChoice({ run, ui, site, value }: Omit<Props, "dark"> & { value: number }) {
  return (
    <select
      aria-label="Value"
      title="Which value of this print"
      data-testid="value-choice"
      value={value}
      onChange={(event) => inspect(ui, site, Number(event.currentTarget.value))}
    >
      {partsOf(run, site).map((i) => (
        <option key={i} value={i}>
          {siteName(run, site, site.values[i])}
        </option>
      ))}
    </select>
  );
}
