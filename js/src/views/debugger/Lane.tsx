/** Selects a vmap lane of a stop: any lane by its index, or the next lane in which the condition holds. */
import type { RunStore } from "../../store/run";
import type { Lanes } from "../../transport/stops";
import { NumberField } from "./NumberField";

interface Props {
  run: RunStore;
  lanes: Lanes;
  stands: boolean;
}

export function Lane({ run, lanes: { sizes, chosen, stopped }, stands }: Props) {
  const at = stopped?.findIndex((lane) => lane.join() === chosen.join()) ?? -1;
  const choose = (lane: number[] | undefined) => lane && run.debugger.selectLane(lane);
  return (
    <span class="lane" data-testid="lane">
      lane
      {sizes.map((size, axis) => (
        <span key={axis}>
          <NumberField
            label={sizes.length > 1 ? `Lane, axis ${axis}` : "Lane"}
            value={chosen[axis] ?? 0}
            most={size - 1}
            disabled={!stands}
            give={(lane) => choose(chosen.map((old, other) => (other === axis ? lane : old)))}
          />{" "}
          of {size}
        </span>
      ))}
      {stopped && (
        <>
          <button
            type="button"
            class="mini"
            aria-label="Previous lane that stopped"
            title="Previous lane that stopped"
            disabled={!stands || at === 0}
            onClick={() => choose(stopped[at < 0 ? 0 : at - 1])}
          >
            ‹
          </button>
          {stopped.length} stopped
          <button
            type="button"
            class="mini"
            aria-label="Next lane that stopped"
            title="Next lane that stopped"
            disabled={!stands || at === stopped.length - 1}
            onClick={() => choose(stopped[at + 1])}
          >
            ›
          </button>
        </>
      )}
    </span>
  );
}
