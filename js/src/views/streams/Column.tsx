/** One stream: its heading and its list of events. */
import { count } from "../../kit/format";
import { VirtualList } from "../../kit/VirtualList";
import type { RunStore } from "../../store/run";
import type { Positions, Stream } from "../../store/stream";
import type { UiState } from "../../store/ui";
import { unsearched, useQuery, useShown } from "../search/shown";
import { detailRows, EventDetail } from "./Detail";
import { Row } from "./Row";

interface Props {
  name: string;
  run: RunStore;
  stream: Stream;
  ui: UiState;
  /** Whether the stream is empty, so that the other one gets the space. */
  slim: boolean;
  dark: boolean;
}

export function Column({ name, run, stream, ui, slim, dark }: Props) {
  run.watch();
  const positions = useShown(run, ui, stream);
  const find = useQuery(ui.find.value).line;
  const { hint, line, problem } = useQuery(ui.filter.value);
  const isSearching = line !== null && !problem && !run.gone && unsearched(run) > 0;
  const testId = `stream-${name.toLowerCase()}`;
  if (slim) {
    return (
      <div class="column slim" data-testid={testId}>
        <h4 title={`No print of this run is ${name.toLowerCase()}`}>{name} · none</h4>
      </div>
    );
  }
  const shown = positions === stream.positions ? "" : `${count(positions.length)} of `;
  const numbers = `${shown}${count(stream.received)}`;
  const { event, moment } = { event: ui.event.value, moment: ui.moment.value };
  const selected = indexOf(run, positions, event);
  const current = moment === null ? -1 : positions.lowerBound(run.log.lowerBound(moment + 1)) - 1;
  return (
    <div class="column" data-testid={testId} data-rows={positions.length}>
      <h4>
        <span>{name}</span>
        <span class="number stream-count" title={numbers}>
          {numbers}
        </span>
        <span class="grow" />
        {stream !== run.ordered && <Inversions run={run} />}
      </h4>
      {positions.length === 0 ? (
        <div class="empty">
          {stream.received > 0 ? `No line matches${isSearching ? " yet" : ""}.${hint && ` ${hint}`}` : "No line yet."}
        </div>
      ) : (
        <VirtualList
          count={positions.length}
          label={`${name} prints`}
          row={(i) => <Row key={i} run={run} ui={ui} position={positions.at(i)} find={find} />}
          onDraw={(first, end) => requestTexts(run, positions, first, end)}
          selected={selected}
          select={(i, extend) => {
            if (!extend) ui.anchor.value = null;
            else ui.anchor.value ??= event;
            ui.event.value = run.log.number(positions.at(i));
          }}
          reveal={selected >= 0 && moment === null ? selected : current}
          revealKey={`${event} ${moment}`}
          looking={event !== null || moment !== null}
          opened={
            selected < 0 || event === null
              ? null
              : {
                  below: selected,
                  rows: detailRows(run, event),
                  content: <EventDetail key={event} run={run} ui={ui} dark={dark} number={event} />,
                }
          }
        />
      )}
    </div>
  );
}

/** The number of unordered events that arrived in another order than that of the program. */
function Inversions({ run }: { run: RunStore }) {
  run.watch();
  const { inversions } = run.order;
  if (inversions === 0) return null;
  const words = `${count(inversions)} out of order`;
  return (
    <span
      class="inversion number"
      title={`${words}: prints of one step that arrived in another order than in the program`}
    >
      {words}
    </span>
  );
}

function requestTexts(run: RunStore, positions: Positions, first: number, end: number): void {
  const missing: number[] = [];
  for (let i = end - 1; i >= first; i--) {
    const position = positions.at(i);
    const number = run.log.number(position);
    if (run.log.gapCount(position) === 0 && number >= run.oldest && !run.gone) missing.push(number);
  }
  run.texts.request(missing, run.next);
}

/** Returns the index of event `number` in the list, or -1. */
function indexOf(run: RunStore, positions: Positions, number: number | null): number {
  const position = number === null ? -1 : run.log.find(number);
  return position < 0 ? -1 : positions.find(position);
}
