/** All that is known of a value at the step, in few lines: what is read out under the pointer. */
import { Bars } from "./Bars";
import { factsOf, type SeenValue } from "./reading";
import type { Value } from "./rows";

export function Facts({ value, found }: { value: Value; found: SeenValue | null }) {
  return (
    <div class="value-facts number">
      {factsOf(value, found).map((line, i) => (
        <div key={i} class={i === 0 ? "mono" : "muted"}>
          {line}
        </div>
      ))}
      {found && <Bars site={value.site} found={found} />}
    </div>
  );
}
