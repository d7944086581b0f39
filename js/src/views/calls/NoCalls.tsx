/** Shown where a run has no calls: which calls are recorded. */
import type { StatusMessage } from "../../transport/wire";

export function NoCalls({ status }: { status: StatusMessage }) {
  if (!status.captured) {
    return (
      <div class="empty">
        <strong>Calls outside a capture are not recorded</strong>
        <span>Under %%jaxdebug each call is listed with the time it took to trace, compile and run.</span>
      </div>
    );
  }
  return (
    <div class="empty">
      <strong>{status.state === "running" ? "No call recorded yet" : "No call was recorded"}</strong>
      <span>
        Calls that are written in the cell itself are recorded, and calls of jitted functions that print, call the host
        or have watched values. Other calls, such as those in a training function, are recorded with{" "}
        <code class="mono">%%jaxdebug --watch-all</code>.
      </span>
    </div>
  );
}
