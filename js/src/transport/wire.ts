/**
 * The messages between kernel and browser; the twin of `jax_debug_widgets/transport/wire.py`, which documents them.
 *
 * Both are tested on the same bytes, `tests/wire_cases/`.
 */

import { type Column, type ColumnSpec, take, unpack, unpackTexts, WireError } from "./columns";

export const VERSION = 1;

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
  shapes: number[][];
  dtypes: string[];
  /** Its place in its program's order, -1 where that is not known. */
  order: number;
  name_stack: string;
  transforms: string[];
}

export interface CallMessage {
  id: number;
  name: string;
  /** `cell` for a call written in the cell. */
  origin: string;
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
  muted: number[];
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

export interface ArrayStatistics {
  size: number;
  nan: number;
  inf: number;
  zero: number;
  min: number | null;
  max: number | null;
  mean: number | null;
  std: number | null;
}

export interface ArrayHeader {
  type: "array";
  version: number;
  run: string;
  id: number;
  event: number;
  value: number;
  name: string;
  dtype: string;
  shape: number[];
  index: number[];
  rows: number;
  columns: number;
  stride: number[];
  stats: ArrayStatistics;
  /** Where the columns lie; `columns` is a number here. */
  data: ColumnSpec[];
  /** Numbers for each pixel, where an image was asked for and the value is one. */
  channels?: number;
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

export interface ArraySlice extends ArrayHeader {
  /** Row by row, `channels` for each. */
  pixels: Float32Array;
  histogram: Uint32Array;
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

export type Message = Batch | Rows | ArraySlice | Done | Failure;

export type RequestBody =
  | { type: "sync"; run: string; first: number }
  | { type: "rows"; run: string; first: number; count: number }
  | { type: "array"; run: string; event: number; value: number; index: number[]; image?: true }
  | { type: "mute"; run: string; site: number; muted: boolean }
  | { type: "barrier"; run: string };
export type Request = RequestBody & { id: number };

/** The typed message in `content` and its buffers, as a host hands them over. */
export function decode(content: unknown, buffers: readonly ArrayBufferView[] = []): Message {
  const header = content as BatchHeader | RowsHeader | ArrayHeader | Done | Failure;
  if (header.version > VERSION) {
    throw new WireError("The kernel has a newer jax_debug_widgets than this page: reload the page.");
  }
  switch (header.type) {
    case "batch":
      return decodeBatch(header, unpack(header.columns, buffers[0]));
    case "rows":
      return { ...header, texts: unpackTexts(unpack(header.columns, buffers[0])) };
    case "array": {
      const columns = unpack(header.data, buffers[0]);
      const pixels = take(columns, "data", Float32Array);
      return { ...header, pixels, histogram: take(columns, "histogram", Uint32Array) };
    }
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
  return { ...header, ...completed(header), events, points, texts: unpackTexts(columns) };
}

/** With what a kernel that is a little older than this page leaves out. */
function completed({ sites, calls, status }: BatchHeader): Pick<BatchHeader, "sites" | "calls" | "status"> {
  return {
    sites: sites.map((site) => ({ ...{ shapes: [], dtypes: [], order: -1 }, ...site })),
    calls: calls.map((call) => ({ ...{ origin: "" }, ...call })),
    status: { ...{ muted: [] }, ...status },
  };
}
