/** The x axis and the smoothing of all charts of a view. */
import { AXES, type Axis, type UiState } from "../../store/ui";

const MOST_SMOOTHING = 0.99;

export function ChartTools({ ui, view }: { ui: UiState; view: keyof UiState["smoothing"] }) {
  const smoothing = ui.smoothing[view];
  return (
    <>
      {ui.zoom.value && (
        <button
          type="button"
          class="mini"
          data-testid="zoom-out"
          title="Show all steps in all charts"
          onClick={() => {
            ui.zoom.value = null;
          }}
        >
          show all
        </button>
      )}
      <label class="slider" title="Exponential moving average; the values themselves stay behind it">
        <span class="muted">smoothing</span>
        <input
          type="range"
          data-testid="smoothing"
          min={0}
          max={MOST_SMOOTHING}
          step={0.01}
          value={smoothing.value}
          onInput={(event) => {
            smoothing.value = event.currentTarget.valueAsNumber;
          }}
        />
        <span class="number">{smoothing.value.toFixed(2)}</span>
      </label>
      <label class="slider">
        <span class="muted">x</span>
        <select
          data-testid="axis"
          title="What the charts are drawn against"
          value={ui.axis.value}
          onChange={(event) => {
            ui.axis.value = event.currentTarget.value as Axis;
            ui.zoom.value = null;
          }}
        >
          {AXES.map((axis) => (
            <option key={axis}>{axis}</option>
          ))}
        </select>
      </label>
    </>
  );
}
