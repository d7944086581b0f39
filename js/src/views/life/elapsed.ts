/** Returns the seconds since the run started, by the kernel's clock. They advance while the run is active. */
import { goesOn } from "../../kit/states";
import type { RunStore } from "../../store/run";
import type { StatusMessage } from "../../transport/wire";

export function elapsed(run: RunStore, status: StatusMessage): number {
  const active = !run.gone && goesOn(status.state);
  return status.elapsed + (active ? (performance.now() - run.statusAt) / 1000 : 0);
}
