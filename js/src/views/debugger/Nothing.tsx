/** The program has not stopped in this run: how it is made to. */
import type { RunStore } from "../../store/run";
import type { StatusMessage } from "../../transport/wire";
import { Breakpoints } from "./Breakpoints";

const HOW = [
  ["jax.debug.breakpoint()", "in a function stops each time it is reached"],
  ["x = jdw.breakpoint(x, when=~jnp.isfinite(x).all())", "stops where the condition holds, and may change x"],
  ["%%jaxdebug --break-on nonfinite", "stops at the first NaN or infinity, without a change of the program"],
  ["%jaxdebug step f(x)", "runs a function equation by equation"],
] as const;

export function Nothing({ run, status }: { run: RunStore; status: StatusMessage }) {
  return (
    <div class="debugger nothing" data-testid="debugger">
      <div class="empty">
        <strong>Nothing has stopped in this run</strong>
        <dl>
          {HOW.map(([code, words]) => [
            <dt key={code} class="mono">
              {code}
            </dt>,
            <dd key={words}>{words}</dd>,
          ])}
        </dl>
        <span>
          While it runs, <b>Pause</b> above stops it at its next event and <b>Stop</b> ends it there.
        </span>
        {status.commands && <small>Requests reach the kernel {status.commands}.</small>}
      </div>
      <Breakpoints run={run} status={status} />
    </div>
  );
}
