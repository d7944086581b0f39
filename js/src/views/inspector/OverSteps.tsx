/**
 * The curves of a value over the steps, together with those of all ticked names. For watched values, the selected
 * statistic.
 */
import { plural } from "../../kit/format";
import { Toggle } from "../../kit/Toggle";
import { timeOfMoment } from "../../store/clock";
import { timeOf } from "../../store/life";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { type Curve, curvesOf } from "../names/curves";
import { wordFor } from "../names/statistic";
import { ChartTools } from "../plots/ChartTools";
import { Plot } from "../plots/Plot";
import { Section } from "./Section";

interface Props {
  run: RunStore;
  ui: UiState;
  /** The key of the inspected value, see `names/leaf.ts`; "" if only ticked names are shown. */
  own: string;
  dark: boolean;
}

export function OverSteps({ run, ui, own, dark }: Props) {
  run.watch();
  const ticked = ui.ticked.value;
  const keys = own ? [own, ...ticked] : [...ticked];
  const curves = curvesOf(run, ui, keys);
  const isStatistic = keys.some((key) => !key.includes("/"));
  if (!isStatistic && curves.length === 0) return null;
  const others = [...ticked].some((key) => key !== own);
  const earlier = curves.some(({ isPrinted }) => isPrinted) ? run.earlier.length : 0;
  const clear = others && (
    <button
      type="button"
      class="mini"
      title="Untick all names"
      onClick={() => {
        ui.ticked.value = new Set();
      }}
    >
      {own ? "this alone" : "none"}
    </button>
  );
  return (
    <Section ui={ui} name="Over steps" about={isStatistic && statisticOver(curves, ui.statistic.value)} tools={clear}>
      <div class="chart-tools">
        <ChartTools ui={ui} view="inspector" />
        {earlier > 0 && (
          <Toggle of={ui.earlier} name="earlier" title="Draw the same values of earlier runs of this cell behind them">
            {plural(earlier, "earlier run")}
          </Toggle>
        )}
      </div>
      <Curves run={run} ui={ui} curves={curves} dark={dark} />
      {curves.length === 0 && <p class="muted">It has no {wordFor(ui.statistic.value)}: choose another statistic.</p>}
    </Section>
  );
}

/**
 * Returns the name of the statistic, with a note if some elements were not finite. Such a step has a mark instead of a
 * number, because the other elements do not represent the value.
 */
function statisticOver(curves: readonly Curve[], statistic: string): string {
  const isPartial = curves.some(({ series, isPrinted }) => !isPrinted && series.marks.x.length > 0);
  return `${wordFor(statistic)}${isPartial ? ", × where not finite" : ""}`;
}

export function Curves({ run, ui, curves, dark }: Omit<Props, "own"> & { curves: readonly Curve[] }) {
  run.watch();
  if (curves.length === 0) return null;
  const call = ui.onlyCall.value === null ? undefined : run.calls.get(ui.onlyCall.value);
  const look = {
    axis: ui.axis.value,
    smoothing: ui.smoothing.inspector.value,
    during: call ? timeOf(call) : null,
    moment: timeOfMoment(run, ui),
  };
  const key = curves.map(({ series }) => `${series.site}/${series.value}`).join();
  return <Plot key={key} {...{ run, ui, curves, look, dark }} plotKey={key} />;
}
