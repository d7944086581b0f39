/** What is known of a value at the shown step, in a few lines. It is shown for the expression under the pointer. */
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
