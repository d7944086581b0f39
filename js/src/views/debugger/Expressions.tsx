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
      {stops.expressions.map((expression) => (
        <div key={expression.text} class="debugger-row" data-expression={expression.text}>
          <b class="mono">{expression.text}</b>
          <span class={`mono value${expression.error ? " bad-text" : ""}`} title={expression.output ?? ""}>
            {expression.output ?? "…"}
          </span>
          <button
            type="button"
            class="close"
            aria-label={`Stop evaluating ${expression.text}`}
            title="Remove this expression"
            onClick={() => stops.removeExpression(expression)}
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
