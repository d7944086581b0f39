/**
 * The table of runs. The user can sort it by its columns, edit names, and tick runs to compare.
 *
 * This file has more than 300 lines because the cells of the table share its state.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { count, plural, value } from "../../kit/format";
import { stateWords } from "../../kit/states";
import { siteColour } from "../../kit/theme";
import type { RunRow } from "../../store/rows";
import { COLUMNS, type Column, inOrder, NEWEST, number, numbersOfSame, type Order, orderedBy, runLabel } from "./order";

/** The number of rows that are drawn until the user asks for all. */
const MOST_ROWS = 200;

/** The most runs to compare at once. */
export const MOST_COMPARED = 8;

const HEADS: Record<Column, string> = {
  run: "run",
  time: "time",
  steps: "steps",
  last: "last loss",
  ms: "ms a step",
  findings: "findings",
};

const TITLES: Partial<Record<Column, string>> = {
  time: "When it began",
  steps: "Steps of the loop that computes the loss, or the value shown instead",
  last: "The newest loss, or the newest of the value shown instead",
  ms: "Milliseconds a step: wall time of recent steps, as in the Overview. Empty where the debugger stopped the run, or no call came after compiling",
};

interface Props {
  rows: readonly RunRow[];
  /** The keys of the ticked runs, in the order of ticking. */
  ticked: readonly string[];
  onTick(key: string): void;
  onRename(key: string, name: string): void;
  /** For each ticked run, the index of its colour. */
  colours: ReadonlyMap<string, number>;
  /** The key of the run whose panel is open. */
  open?: string | undefined;
  /** Opens the panel of a run. Undefined if there is no place for one. */
  onOpen?: ((row: RunRow) => void) | undefined;
  onOpenBeside?: ((row: RunRow) => void) | undefined;
}

export function RunsTable({ rows, ...props }: Props) {
  const [order, setOrder] = useState<Order>(NEWEST);
  const [most, setMost] = useState(MOST_ROWS);
  const sorted = inOrder(rows, order);
  const numbers = numbersOfSame(rows);
  return (
    <table class="runs-table" data-testid="runs-table">
      <thead>
        <tr>
          <th>
            <span class="unseen">compare</span>
          </th>
          {COLUMNS.map((column) => (
            <Head key={column} column={column} words={headOf(column, rows)} order={order} onSort={setOrder} />
          ))}
        </tr>
      </thead>
      <tbody>
        {sorted.slice(0, most).map((row) => (
          <Row key={row.key} row={row} twin={numbers.get(row.key)} {...props} />
        ))}
        {sorted.length > most && (
          <tr>
            <td colSpan={COLUMNS.length + 1}>
              <button type="button" class="button" title="Show more runs" onClick={() => setMost(most + MOST_ROWS)}>
                {plural(sorted.length - most, "more run")}
              </button>
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** Returns the text of a column's head. If all values have one name, the head has that name. */
function headOf(column: Column, rows: readonly RunRow[]): string {
  if (column !== "last") return HEADS[column];
  const values = [...new Set(rows.flatMap(({ value: name }) => name || []))];
  return values.length === 1 ? `last ${values[0]}` : "last value";
}

interface HeadProps {
  column: Column;
  words: string;
  order: Order;
  onSort(order: Order): void;
}

function Head({ column, words, order, onSort }: HeadProps) {
  const isMine = order.by === column;
  return (
    <th
      class={`col-${column}`}
      aria-sort={isMine ? (order.descending ? "descending" : "ascending") : undefined}
      title={TITLES[column]}
    >
      <button type="button" class="sort" title="Sort by this column" onClick={() => onSort(orderedBy(column, order))}>
        {words}
        {isMine && <span aria-hidden="true">{order.descending ? " ↓" : " ↑"}</span>}
      </button>
    </th>
  );
}

interface RowProps extends Omit<Props, "rows"> {
  row: RunRow;
  /** Its number among the runs with the same name; undefined if the name is unique. */
  twin: number | undefined;
}

function Row({ row, twin, ticked, onTick, onRename, colours, open, onOpen, onOpenBeside }: RowProps) {
  const called = `${row.cell ? `In [${row.cell}] ` : ""}${runLabel(row)}${twin ? ` #${twin}` : ""}`;
  const isTicked = ticked.includes(row.key);
  const colour = colours.get(row.key);
  const isFull = ticked.length >= MOST_COMPARED && !isTicked;
  return (
    <tr
      data-run={row.key}
      data-state={row.state}
      data-events={row.events}
      data-barrier={row.barrier}
      class={row.key === open ? "open" : ""}
    >
      <td>
        <input
          type="checkbox"
          checked={isTicked}
          disabled={isFull}
          title={isFull ? `At most ${MOST_COMPARED} runs are compared` : "Compare it with the others that are ticked"}
          aria-label={`Compare ${called}`}
          style={colour === undefined ? {} : { "accent-color": `var(${siteColour(colour)})` }}
          onChange={() => onTick(row.key)}
        />
      </td>
      <td class="col-run">
        <Name
          row={row}
          twin={twin}
          called={called}
          onRename={onRename}
          isOpen={row.key === open}
          onOpen={onOpen}
          onOpenBeside={onOpenBeside}
        />
        <span class="run-detail">
          <State row={row} />
          {(row.findings ?? 0) > 0 && <span class="run-findings">{plural(row.findings ?? 0, "finding")}</span>}
          {row.config && <Detail class="mono run-config" words={configWords(row.config)} />}
          {row.asked && <Detail class="mono run-asked" words={row.asked} />}
          {row.file && <Detail class="run-asked" words={row.file.split("/").at(-1) ?? ""} title={row.file} />}
          {row.gone && (
            <span class="run-gone" title={row.gone}>
              partly gone
            </span>
          )}
        </span>
      </td>
      <td class="col-time number" title={new Date(1000 * row.started).toLocaleString()}>
        {clock(row.started)}
      </td>
      <td class="col-steps number">{row.steps ? count(row.steps) : "–"}</td>
      <td class="col-last number">
        <Last row={row} />
      </td>
      <td class="col-ms number">{row.step_ms == null ? "–" : brief(row.step_ms)}</td>
      <td class="col-findings number">{row.findings ? count(row.findings) : "–"}</td>
    </tr>
  );
}

/** Text that is cut if there is no space for it. */
function Detail({ class: look, words, title = words }: { class: string; words: string; title?: string }) {
  return (
    <span class={look} title={title}>
      {words}
    </span>
  );
}

interface NameProps {
  row: RunRow;
  twin: number | undefined;
  called: string;
  onRename(key: string, name: string): void;
  isOpen: boolean;
  onOpen: ((row: RunRow) => void) | undefined;
  onOpenBeside: ((row: RunRow) => void) | undefined;
}

/**
 * The name of a run. A click opens the run, the pen button edits the name. Enter keeps the edit, Escape discards it.
 */
function Name({ row, twin, called, onRename, isOpen, onOpen, onOpenBeside }: NameProps) {
  const [isEdited, setEdited] = useState(false);
  const pen = useRef<HTMLButtonElement>(null);
  const wasEdited = useRef(false);
  useEffect(() => {
    if (wasEdited.current && !isEdited) pen.current?.focus();
    wasEdited.current = isEdited;
  }, [isEdited]);
  const cell = row.cell ? <span class="muted">In [{row.cell}]</span> : null;
  if (isEdited) {
    const keep = (name: string) => {
      setEdited(false);
      if (name.trim() !== (row.name ?? "")) onRename(row.key, name.trim());
    };
    return (
      <span class="run-name">
        {cell}
        <Field row={row} called={called} onKeep={keep} onLeave={() => setEdited(false)} />
      </span>
    );
  }
  const words = (
    <>
      {cell}
      <bdi class={row.name ? "" : "mono"}>{runLabel(row)}</bdi>
      {twin && <span class="muted">#{twin}</span>}
    </>
  );
  return (
    <span class="run-name" title={row.name ? `${called}: ${row.title}` : called}>
      {onOpen ? (
        <button type="button" class="run-open" aria-expanded={isOpen} onClick={() => onOpen(row)}>
          {words}
        </button>
      ) : (
        <span class="run-open">{words}</span>
      )}
      <span class="run-buttons">
        <button
          ref={pen}
          type="button"
          class="runs-icon rename"
          aria-label={`Rename ${called}`}
          title="Give it another name"
          onClick={() => setEdited(true)}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M3 13l.6-2.6 7-7 2 2-7 7z" fill="none" stroke="currentColor" stroke-width="1.2" />
          </svg>
        </button>
        {onOpenBeside && (
          <button
            type="button"
            class="runs-icon beside"
            aria-label={`Open ${called} beside the notebook`}
            title="Open beside the notebook"
            onClick={() => onOpenBeside(row)}
          >
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M2 3h12v10H2zM9 3v10" fill="none" stroke="currentColor" stroke-width="1.3" />
            </svg>
          </button>
        )}
      </span>
    </span>
  );
}

interface FieldProps {
  row: RunRow;
  called: string;
  onKeep(name: string): void;
  onLeave(): void;
}

function Field({ row, called, onKeep, onLeave }: FieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const isLeft = useRef(false);
  useEffect(() => field.current?.select(), []);
  return (
    <input
      ref={field}
      class="run-field"
      aria-label={`Name of ${called}`}
      title="Enter keeps the name, Escape leaves it as it was"
      placeholder={row.title}
      defaultValue={row.name ?? ""}
      onKeyDown={(event) => {
        // The keys must not reach the shortcuts of the panel and the notebook.
        event.stopPropagation();
        if (event.key !== "Enter" && event.key !== "Escape") return;
        isLeft.current = true;
        if (event.key === "Enter") onKeep(event.currentTarget.value);
        else onLeave();
      }}
      onBlur={(event) => {
        if (!isLeft.current) onKeep(event.currentTarget.value);
      }}
    />
  );
}

/** The state of the run, except if it is simply done. */
function State({ row: { state, barrier } }: { row: RunRow }) {
  const words = barrier === "timeout" ? "Effects are late" : state === "done" ? "" : stateWords(state);
  if (!words) return null;
  return <span class={state === "failed" || barrier === "failed" ? "bad-text" : "run-state"}>{words}</span>;
}

function Last({ row }: { row: RunRow }) {
  if (row.last === null || row.last === undefined) return <>–</>;
  const last = number(row.last);
  const words = Number.isNaN(last) ? "NaN" : Number.isFinite(last) ? brief(last) : last > 0 ? "∞" : "−∞";
  return (
    <span class={Number.isFinite(last) ? "" : "bad-text"} title={`${row.value} ${value(last)}`}>
      {words}
    </span>
  );
}

/** Returns the configuration as text: `lr=0.003 seed=1`. */
function configWords(config: NonNullable<RunRow["config"]>): string {
  const text = (value: unknown) =>
    typeof value === "number" ? brief(value) : typeof value === "string" ? value : JSON.stringify(value);
  return Object.entries(config)
    .map(([name, value]) => `${name}=${text(value)}`)
    .join(" ");
}

/** Formats a number in three digits, so that rows are easy to compare. */
function brief(y: number): string {
  const size = Math.abs(y);
  if (y !== 0 && (size >= 1e5 || size < 1e-3)) return y.toExponential(1);
  return String(Number(y.toPrecision(3)));
}

function clock(started: number): string {
  const at = new Date(1000 * started);
  const isToday = at.toDateString() === new Date().toDateString();
  const time = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  return isToday ? time : `${at.toLocaleDateString([], { month: "short", day: "numeric" })} ${time}`;
}
