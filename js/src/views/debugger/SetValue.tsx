/**
 * Sets the value with which the program continues, if it uses the result of the breakpoint: `x = jdw.breakpoint(x)`.
 */
import { useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { StopBody } from "../../transport/stops";
import { typeName } from "../arrays/values";

type Value = NonNullable<StopBody["replaceable"]>;

export function SetValue({ run, value: { name, shape, dtype } }: { run: RunStore; value: Value }) {
  const [text, setText] = useState("");
  const type = typeName(dtype, shape);
  // The value is set by a command, so that the console shows the result.
  const set = () => text.trim() && run.debugger.run(`set ${text}`);
  return (
    <span>
      {name} ={" "}
      <input
        type="text"
        aria-label={`Continue with another value of ${name}: ${type}`}
        title={`Continue with the value of this expression: ${type}`}
        placeholder={type}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && set()}
      />{" "}
      <button type="button" class="mini" title="Continue with this value" disabled={!text.trim()} onClick={set}>
        set
      </button>
    </span>
  );
}
