/** The places where the program may stop. They can be switched while it runs, without compiling again. */
import { plural } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { BreakpointMessage, StatusMessage } from "../../transport/wire";
import { NumberField } from "./NumberField";

export function Breakpoints({ run, status }: { run: RunStore; status: StatusMessage }) {
  if (status.breakpoints.length === 0) return null;
  return (
    <>
      <h4>Breakpoints</h4>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by the keyboard where nothing in it can be switched */}
      <ul class="breakpoints" data-testid="breakpoints" aria-label="Breakpoints" tabIndex={0}>
        {status.breakpoints.map((breakpoint) => (
          <Breakpoint key={breakpoint.site} run={run} breakpoint={breakpoint} />
        ))}
      </ul>
    </>
  );
}

function Breakpoint({ run, breakpoint }: { run: RunStore; breakpoint: BreakpointMessage }) {
  const { site, name, where, condition, enabled, skip, hits, cost } = breakpoint;
  const title = name || where;
  return (
    <li data-site={site} class="debugger-row">
      <label
        class={enabled ? "mono" : "mono muted"}
        title={
          run.gone
            ? run.over
            : enabled
              ? "The program stops here. Disable this breakpoint"
              : "The program does not stop here. Enable this breakpoint"
        }
      >
        <input
          type="checkbox"
          checked={enabled}
          disabled={run.gone}
          onChange={(event) => run.debugger.setBreakpoint(site, { enabled: event.currentTarget.checked })}
        />
        {title}
      </label>
      <small class="muted">
        {[name && where, condition && `when ${condition}`, plural(hits, "hit")].filter(Boolean).join(" · ")}
      </small>
      <span class="muted" title="Skip this many before it stops">
        skip{" "}
        <NumberField
          label={`Skip of ${title}`}
          value={skip}
          disabled={run.gone}
          give={(wanted) => run.debugger.setBreakpoint(site, { skip: wanted })}
        />
      </span>
      {cost && (
        <small class="muted breakpoint-cost" title="What this breakpoint costs in the program">
          costs {cost}
        </small>
      )}
    </li>
  );
}
