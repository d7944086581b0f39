/** Shown if there is no value and no stop: how to watch values, and how to stop the program. */
import type { StatusMessage } from "../../transport/wire";

const VALUES = [
  ["%%jaxdebug --watch-all", "shows beside each line of your code what it computed"],
  ["%%jaxdebug --watch logits,h", "shows these names only"],
  ["%%jaxdebug --watch model.py:40-60", "shows these lines only"],
] as const;

const STOPS = [
  ["jax.debug.breakpoint()", "in a function stops each time it is reached"],
  ["x = jdw.breakpoint(x, when=~jnp.isfinite(x).all())", "stops where the condition holds, and may change x"],
  ["%%jaxdebug --break-on nonfinite", "stops at the first NaN or infinity, without changing the program"],
  ["%jaxdebug step f(x)", "runs a function equation by equation"],
] as const;

export function Nothing({ status }: { status: StatusMessage }) {
  return (
    <div class="empty nothing" data-testid="nothing-watched">
      <strong>
        {status.state === "running" ? "Nothing watched has been computed yet" : "Nothing is watched in this run"}
      </strong>
      <Ways all={VALUES} />
      <strong>Nothing has stopped in this run</strong>
      <Ways all={STOPS} />
      <span>
        While it runs, <b>Pause</b> above stops it at its next print or value and <b>Stop</b> ends it there.
      </span>
      {status.commands && <small>The kernel answers clicks {status.commands}.</small>}
    </div>
  );
}

function Ways({ all }: { all: readonly (readonly [string, string])[] }) {
  return (
    <dl>
      {all.map(([code, words]) => [
        <dt key={code} class="mono">
          {code}
        </dt>,
        <dd key={words}>{words}</dd>,
      ])}
    </dl>
  );
}
