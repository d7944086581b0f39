/** One stream: its heading and its rows. */
import { useMemo } from "preact/hooks";
import { count } from "../../kit/format";
import { VirtualList } from "../../kit/VirtualList";
import { FilteredStream, parseQuery } from "../../store/filter";
import type { Growable } from "../../store/growable";
import type { RunStore, Stream } from "../../store/run";
import type { UiState } from "../../store/ui";
import { Row } from "./Row";

interface Props {
  name: string;
  run: RunStore;
  stream: Stream;
  ui: UiState;
  /** There is nothing of this kind: leave the room to the other one. */
  slim: boolean;
}

export function Column({ name, run, stream, ui, slim }: Props) {
  run.watch();
  const filter = ui.filter.value;
  const site = ui.site.value;
  const filtered = useMemo(
    () => new FilteredStream(run, stream, parseQuery(filter), site),
    [run, stream, filter, site],
  );
  if (slim) {
    return (
      <div class="column slim" data-testid={`stream-${name.toLowerCase()}`}>
        <h4 title={`No site of this run is ${name.toLowerCase()}`}>{name} · none</h4>
      </div>
    );
  }
  const positions = filtered.update();
  const shown = positions === stream.positions ? "" : `${count(positions.length)} of `;
  const requestTexts = (first: number, end: number) => {
    const missing: number[] = [];
    for (let i = end - 1; i >= first; i--) {
      const position = positions.at(i);
      const number = run.log.number(position);
      if (run.log.gapCount(position) === 0 && number >= run.oldest && !run.gone) missing.push(number);
    }
    run.texts.request(missing, run.next);
  };
  return (
    <div class="column" data-testid={`stream-${name.toLowerCase()}`} data-rows={positions.length}>
      <h4>
        {name}
        <span class="number stream-count">
          {shown}
          {count(stream.received)}
        </span>
      </h4>
      {positions.length === 0 ? (
        <div class="empty">{stream.received > 0 ? "No line matches." : "Nothing has fired here yet."}</div>
      ) : (
        <VirtualList
          count={positions.length}
          label={`${name} events`}
          row={(i) => <Row key={i} run={run} ui={ui} position={positions.at(i)} />}
          onDraw={requestTexts}
          selected={indexOf(run, positions, ui.event.value)}
          select={(i) => {
            ui.event.value = run.log.number(positions.at(i));
          }}
        />
      )}
    </div>
  );
}

/** Where event `number` stands in the list, -1 if it does not. */
function indexOf(run: RunStore, positions: Growable<Uint32Array>, number: number | null): number {
  const position = number === null ? -1 : run.log.find(number);
  return position < 0 ? -1 : positions.find(position);
}
