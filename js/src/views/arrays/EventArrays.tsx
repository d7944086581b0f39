/** Small pictures of the arrays of one event, with links to inspect them. */
import { inspect } from "../../store/cursor";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { SiteMessage } from "../../transport/wire";
import { Full } from "./Full";
import { Slice } from "./Slice";
import { arraysOf } from "./values";

/** The most arrays that fit. */
const MOST_ARRAYS = 3;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: boolean;
  site: SiteMessage;
  event: number;
}

export function EventArrays({ run, ui, dark, site, event }: Props) {
  run.watch();
  const open = (value: number) => {
    inspect(ui, site, value);
    ui.moment.value = event;
    ui.tab.value = "source";
  };
  return (
    <>
      {arraysOf(run, site)
        .slice(0, MOST_ARRAYS)
        .map(({ key, value, name, shape }) => {
          const wanted = { event, value, index: shape.slice(0, -2).map(() => 0), image: false };
          return (
            <div key={key} class="detail-array">
              <button type="button" class="mini" title="Inspect it beside its line" onClick={() => open(value)}>
                {name} ↗
              </button>
              <Slice answer={run.arrays.get(wanted)} name={name} dark={dark} gone={run.gone}>
                <Full run={run} wanted={wanted} name={name} />
              </Slice>
            </div>
          );
        })}
    </>
  );
}
