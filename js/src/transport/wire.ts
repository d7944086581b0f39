/**
 * The messages between kernel and browser; the twin of `jax_debug_widgets/transport/wire.py`, which documents them.
 *
 * Both are tested on the same bytes, `tests/wire_cases/`.
 */

export const VERSION = 1;
const ALIGNMENT = 8;

const DTYPES = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

export type DType = keyof typeof DTYPES;
export type Column = InstanceType<(typeof DTYPES)[DType]>;

export interface ColumnSpec {
  name: string;
  dtype: string;
  offset: number;
  length: number;
}

export interface SiteMessage {
  id: number;
  kind: string;
  ordered: boolean;
  phase: string;
  where: string;
  file: string;
  line: number;
  column: number;
  function: string;
  source: string;
  label: string;
  values: string[];
  name_stack: string;
  transforms: string[];
}

export interface CallMessage {
  id: number;
  name: string;
  state: string;
  started: number;
  trace: number | null;
  lower: number | null;
  compile: number | null;
  dispatched: number | null;
  ready: number | null;
  drained: number | null;
  effects: boolean;
  ordered: boolean;
  events: number;
  error: string;
}

export interface BarrierMessage {
  state: string;
  pending: string[];
  waited: number;
  timeout: number | null;
}

export interface StatusMessage {
  state: string;
  title: string;
  started: number;
  elapsed: number;
  events: number;
  rate: number;
  dropped: number;
  dropped_by_site: Record<string, number>;
  barrier: BarrierMessage;
  notes: string[];
}

export interface BatchHeader {
  type: "batch";
  version: number;
  run: string;
  batch: number;
  first: number;
  count: number;
  oldest: number;
  columns: ColumnSpec[];
  sites: SiteMessage[];
  calls: CallMessage[];
  status: StatusMessage;
  /** The request that this batch answers. */
  id?: number;
}

export interface RowsHeader {
  type: "rows";
  version: number;
  run: string;
  id: number;
  first: number;
  count: number;
  columns: ColumnSpec[];
}

/** The columns that every event has, all of length `count`. */
export interface EventColumns {
  site: Uint32Array;
  time: Float64Array;
  occurrence: Uint32Array;
  lane: Int32Array;
  call: Int32Array;
}

export interface PointColumns {
  row: Uint32Array;
  value: Uint16Array;
  y: Float64Array;
}

export interface Batch extends BatchHeader {
  events: EventColumns;
  points: PointColumns;
  /** The lines by row of this batch. */
  texts: Map<number, string>;
}

export interface Rows extends RowsHeader {
  /** The lines by row, counted from `first`. */
  texts: Map<number, string>;
}

export interface Done {
  type: "done";
  version: number;
  run: string;
  id: number;
}

export interface Failure {
  type: "error";
  version: number;
  run: string;
  id: number;
  message: string;
}

export type Message = Batch | Rows | Done | Failure;

export type RequestBody =
  | { type: "sync"; run: string; first: number }
  | { type: "rows"; run: string; first: number; count: number }
  | { type: "barrier"; run: string };
export type Request = RequestBody & { id: number };

export class WireError extends Error {
  override name = "WireError";
}

/** The typed message in `content` and its buffers, as a host hands them over. */
export function decode(content: unknown, buffers: readonly ArrayBufferView[] = []): Message {
  const header = content as BatchHeader | RowsHeader | Done | Failure;
  if (header.version > VERSION) {
    throw new WireError("The kernel has a newer jax_debug_widgets than this page: reload the page.");
  }
  switch (header.type) {
    case "batch":
      return decodeBatch(header, unpack(header.columns, buffers[0]));
    case "rows":
      return { ...header, texts: unpackTexts(unpack(header.columns, buffers[0])) };
    case "done":
    case "error":
      return header;
    default:
      throw new WireError(`unknown message type ${JSON.stringify((header as { type: unknown }).type)}`);
  }
}

function decodeBatch(header: BatchHeader, columns: Map<string, Column>): Batch {
  const events = {
    site: take(columns, "site", Uint32Array),
    time: take(columns, "time", Float64Array),
    occurrence: take(columns, "occurrence", Uint32Array),
    lane: take(columns, "lane", Int32Array),
    call: take(columns, "call", Int32Array),
  };
  for (const [name, column] of Object.entries(events)) {
    if (column.length !== header.count) {
      throw new WireError(`column "${name}" has ${column.length} rows, the batch ${header.count}`);
    }
  }
  const points = {
    row: take(columns, "point_row", Uint32Array),
    value: take(columns, "point_value", Uint16Array),
    y: take(columns, "point_y", Float64Array),
  };
  return { ...header, events, points, texts: unpackTexts(columns) };
}

/** The columns in `buffer`: views of it where it is aligned, else of a copy. */
export function unpack(specs: readonly ColumnSpec[], buffer?: ArrayBufferView): Map<string, Column> {
  const bytes = alignedBytes(buffer);
  const columns = new Map<string, Column>();
  for (const { name, dtype, offset, length } of specs) {
    if (!Object.hasOwn(DTYPES, dtype)) throw new WireError(`column "${name}": unknown dtype "${dtype}"`);
    const type = DTYPES[dtype as DType];
    const end = offset + length * type.BYTES_PER_ELEMENT;
    if (offset % ALIGNMENT !== 0 || offset < 0 || length < 0 || end > bytes.byteLength) {
      throw new WireError(`column "${name}": bytes ${offset}..${end} are not in a buffer of ${bytes.byteLength}`);
    }
    columns.set(name, new type(bytes.buffer, bytes.byteOffset + offset, length));
  }
  return columns;
}

function alignedBytes(buffer?: ArrayBufferView): Uint8Array<ArrayBuffer> {
  if (!buffer) return new Uint8Array(0);
  const bytes = new Uint8Array(buffer.buffer as ArrayBuffer, buffer.byteOffset, buffer.byteLength);
  return bytes.byteOffset % ALIGNMENT === 0 ? bytes : bytes.slice();
}

function unpackTexts(columns: ReadonlyMap<string, Column>): Map<number, string> {
  const rows = take(columns, "text_row", Uint32Array);
  const ends = take(columns, "text_end", Uint32Array);
  const data = take(columns, "text", Uint8Array);
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  const texts = new Map<number, string>();
  let start = 0;
  rows.forEach((row, i) => {
    const end = ends[i] ?? start;
    texts.set(row, utf8.decode(data.subarray(start, end)));
    start = end;
  });
  return texts;
}

/** The column of that name, empty where the message has none. */
function take<T extends Column>(
  columns: ReadonlyMap<string, Column>,
  name: string,
  type: new (length: number) => T,
): T {
  const column = columns.get(name) ?? new type(0);
  if (!(column instanceof type)) throw new WireError(`column "${name}" is a ${column.constructor.name}`);
  return column;
}
