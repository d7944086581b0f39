/** Expressions that are evaluated at each stop, in the selected frame and lane. */
import type { RunStore } from "../../store/run";

interface Props {
  run: RunStore;
  stands: boolean;
}

export function Expressions({ run, stands }: Props) {
  run.watch();
  const { debugger: stops } = run;
  return (
    <section data-testid="expressions" aria-label="Expressions">
      <h4>Expressions</h4>
      {stops.expressions.map((one) => (
        <div key={one.text} class="debugger-row" data-expression={one.text}>
          <b class="mono">{one.text}</b>
          <span class={`mono value${one.error ? " bad-text" : ""}`} title={one.output ?? ""}>
            {one.output ?? "…"}
          </span>
          <button
            type="button"
            class="close"
            aria-label={`Stop evaluating ${one.text}`}
            title="Remove this expression"
            onClick={() => stops.removeExpression(one)}
          >
            ×
          </button>
        </div>
      ))}
      <div class="expression">
        <input
          type="text"
          class="mono"
          aria-label="Evaluate at each stop"
          placeholder="evaluate at each stop"
          title="A Python expression over this frame, evaluated now and at each stop"
          disabled={!stands}
          // In JupyterLab, Enter does not submit a form.
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            stops.addExpression(event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        />
      </div>
    </section>
  );
}
