/**
 * The messages between kernel and browser; the twin of `wire.py`, `requests.py`, `run_messages.py` and `answers.py` in
 * `jax_debug_widgets/transport`, which document them.
 *
 * Both are tested on the same bytes, `tests/wire_cases/`.
 *
 * This file has more than 300 lines because every message has its type here, as in the kernel's half.
 */

import type { ComparedAnswer, RunsAnswer } from "../store/rows";
import { type Column, type ColumnSpec, take, unpack, unpackTexts, WireError } from "./columns";
import type { ArrayStatistics, Completions, ConsoleOutput, HowToResume, StopChange, TypedBefore } from "./stops";

export type { ArrayStatistics } from "./stops";

export const VERSION = 1;

/** A watched value. */
export interface WatchMessage {
  name: string;
  role: "value" | "gradient";
  shape: number[];
  dtype: string;
  primitive: string;
  /** The named scopes around the value: `layer0/mlp`. */
  scope: string;
  /** Whether `values` can be requested. Then the last of its site's `values` is the value itself. */
  full: boolean;
  /** The sizes of its `vmap` axes, outermost first, if statistics are recorded for each lane; otherwise empty. */
  lanes: number[];
  /** For a gradient: the id of its value's site; -1 if no site before it has the value. Null for a value. */
  value: number | null;
  /** For a value: the id of its gradient's site, if the gradient came first; otherwise null. */
  gradient: number | null;
  /** The infinities that the source puts there on purpose, such as those of a mask: `posinf`, `neginf` or both. */
  intended: string[];
  /**
   * The expression that may mask a NaN of the value: `jnp.where(x > 0, h, 0.0) at model.py:7`. Empty if there is none.
   */
  choice: string;
  /** How to merge each of the site's values over several lanes or devices; "" if it cannot be merged. */
  merges: string[];
  /** For a gradient: the lines with the derivatives that compute it, as far as one program shows them. */
  derivatives: DerivativeMessage[];
  /** The names of the value in the next iteration of its loop. */
  given_on: string[];
  /** Whether its statistics count lanes that have left their vmapped `while`. */
  has_ended_lanes: boolean;
  /** The sizes of its `vmap` axes, outermost first, even if nothing is recorded for each lane. */
  vmapped: number[];
  /**
   * The indices of the equations around it and of its own, outermost first. In a loop, it ends with the outermost loop.
   */
  position: number[];
}

/** A value that had a NaN after the value of a finding. */
export interface FollowerMessage {
  where: string;
  label: string;
  site: number;
  event: number;
}

/** A problem that was found in the run. */
export interface FindingMessage {
  kind: string;
  /** 0 for an error, 1 for a wrong result, 2 for lost precision, 3 for lost time. */
  severity: number;
  where: string;
  headline: string;
  why: string;
  advice: string;
  /** The lines of code to write instead. */
  fix: string[];
  /** The place of the problem; "" and 0 if it has none. */
  file: string;
  line: number;
  first_line: number;
  /** The source lines from `first_line` to `line`, both included. */
  lines: string[];
  /** The id of the site that shows the problem; -1 if none does. */
  site: number;
  event: number;
  /** The first `vmap` lane that shows the problem; empty if it is not known. */
  lane: number[];
  /** The URL of the section of JAX's documentation that explains this kind of problem; empty if there is none. */
  section: string;
  /** The first of the `following` values. */
  followers: FollowerMessage[];
  /** The number of values that had a NaN later. */
  following: number;
}

export interface Findings {
  type: "findings";
  version: number;
  run: string;
  id: number;
  findings: FindingMessage[];
}

/** A line with a derivative that computes a gradient. */
export interface DerivativeMessage {
  /** The expression that is differentiated. */
  text: string;
  file: string;
  line: number;
  /** The place in short: `train.py:41`, `In [7]:12`. */
  where: string;
}

/** A site, as it was compiled for one of its types. There is a message for each type. */
export interface SiteMessage {
  id: number;
  /** The index of the type. The column `type` of a batch has the type of each event. */
  type: number;
  kind: string;
  ordered: boolean;
  phase: string;
  where: string;
  file: string;
  line: number;
  column: number;
  /** 0 and -1 if the range is not known. */
  end_line: number;
  end_column: number;
  function: string;
  source: string;
  label: string;
  values: string[];
  shapes: number[][];
  dtypes: string[];
  /** The index of the site in the order of its program; -1 if it is not known. */
  order: number;
  /** The length of each loop around it, outermost first; null if the length is known only at run time. */
  loops: (number | null)[];
  reverse: boolean[];
  /** The site fires in every `leap`-th iteration of the outermost loop. */
  leap: number;
  name_stack: string;
  transforms: string[];
  /** The places that call it, innermost first. */
  callers: string[];
  /** The number of the process in which it fires. */
  process: number;
  /**
   * The watched value of a site of kind `watch`, otherwise null. Then the range of the site is the expression that
   * computes the value, and its `values` are names of statistics.
   */
  watch: WatchMessage | null;
}

export interface CallMessage {
  id: number;
  name: string;
  /** The name of the function; `name` may be the expression in the cell instead. */
  function: string;
  /** `cell` if the call is written in the cell. */
  origin: string;
  state: string;
  started: number;
  trace: number | null;
  lower: number | null;
  compile: number | null;
  /**
   * The seconds that it took to load Numba and, once for an environment, to compile the code that reads watched values.
   * They are not part of the other durations.
   */
  numba: number | null;
  /** When the previous calls of its thread had ended, in seconds since the run started. */
  queued: number;
  /**
   * The series of calls without a pause that this call belongs to: when the first call was dispatched, the number of
   * this call, and the number of calls from which on their mean is known.
   */
  flight: [since: number, rank: number, least: number] | null;
  dispatched: number | null;
  ready: number | null;
  drained: number | null;
  effects: boolean;
  ordered: boolean;
  events: number;
  error: string;
  /** Why its function was traced again; null if it was not. */
  retraced: string | null;
  /** The lines that Python's `print` wrote while the function was traced. */
  prints: string[];
  /** The name of the Python thread that made the call. */
  thread: string;
}

export interface BarrierMessage {
  state: string;
  pending: string[];
  waited: number;
  timeout: number | null;
  /** The intervals in which something waited, in seconds since the run started: begin and end (null: still waiting). */
  waits: [number, number | null][];
}

/** A place where the program may stop. */
export interface BreakpointMessage {
  site: number;
  name: string;
  where: string;
  condition: string;
  enabled: boolean;
  /** The number of further firings that do not stop. */
  skip: number;
  /** How often the place was reached. */
  hits: number;
  /** What the breakpoint adds to the program; empty if nothing. */
  cost: string;
}

/** The number of NaNs, the number of infinities, and the number of the first event with one. */
export interface NonFiniteMessage {
  nan: number;
  inf: number;
  first: number;
}

/** One of several processes of a run. */
export interface ProcessMessage {
  number: number;
  host: string;
  state: string;
  events: number;
  /** How long the process has been silent, or that it has died; "" if it is alive or has finished. */
  sign: string;
  /** The last call and its state, in words. */
  last: string;
}

/**
 * The first event of the run with a NaN or infinity. `nan` is whether it has a NaN, `masked` whether a choice such as
 * `where` may leave the number out.
 */
export interface FirstNonFiniteMessage {
  site: number;
  event: number;
  nan: boolean;
  masked: boolean;
  /** The index of the `vmap` lane on each axis, outermost first; empty if it is not known. */
  lane: number[];
  /** The line to show: where a check saw the NaN arise, otherwise that of the derivative or the site. */
  where: string;
  file: string;
  line: number;
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
  /** For each site with an interval n: every n-th firing is recorded. */
  every: Record<string, number>;
  /** The names that the next run watches, too, see `SourceName.pattern`. */
  added: string[];
  /** The values in the streams that are not finite; null if all are finite. */
  nonfinite: NonFiniteMessage | null;
  /** The NaN or infinity that the findings name as the first; null if all values are finite. */
  first_nonfinite: FirstNonFiniteMessage | null;
  /** The number of findings. */
  findings: number;
  /** When the debugger last let the program go on, in seconds since the run started; 0 if it never stopped. */
  resumed: number;
  barrier: BarrierMessage;
  notes: string[];
  breakpoints: BreakpointMessage[];
  /** Whether the program is at a stop. */
  paused: boolean;
  /** Whether `pause` and `halt` would take effect at the next event. */
  stoppable: boolean;
  /** False if only breakpoints of programs that were compiled outside a capture are seen. */
  captured: boolean;
  /** How requests reach the kernel while a cell runs, in words. */
  commands: string;
  /** The processes of the run, if it has several; otherwise empty. */
  processes: ProcessMessage[];
  /** For each site that is a copy: the site of another process with the same values. */
  copies: Record<string, number>;
  /** The condition under which watched values are recorded; "" for always. */
  when: string;
  /** The lines at which the next run stops: `train.py:41`. */
  lines: string[];
  /** The note that says what watching will cost; "" if nothing is watched. */
  cost: string;
  /**
   * The number of programs that were compiled outside calls, such as un-jitted operations, and the seconds that this
   * took.
   */
  apart: readonly [number, number];
  /** The checks that ran and found nothing: `oob, keys`. Empty if none ran, or if one found something. */
  checked: string;
  /** Whether the cell asks to watch values. */
  watches: boolean;
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
  /** The names of the devices; the column `device` is an index into them. */
  devices: string[];
  /** The names of the threads; the column `span_thread` is an index into them. */
  threads: string[];
  /** The number of spans before this batch. */
  first_span: number;
  sites: SiteMessage[];
  calls: CallMessage[];
  status: StatusMessage;
  /** The id of the request that this batch answers. */
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

export interface ArrayHeader {
  type: "array";
  version: number;
  run: string;
  id: number;
  /** `event` and `value` are -1 for a variable of a stop's frame. */
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
  /** The layout of the columns. The name `columns` is taken by the number of columns. */
  data: ColumnSpec[];
  /** The numbers for each pixel, if an image was requested and the value is one. */
  channels?: number;
  /**
   * The axes shown as rows and as columns, then the tiled ones. `tiles` are the number of pictures in `data` and in the
   * value.
   */
  axes?: number[];
  tiles?: [number, number];
}

interface DataHeader {
  type: "histograms" | "file";
  version: number;
  run: string;
  id: number;
  data: ColumnSpec[];
}

/**
 * A page of an array as text. It begins at `row`, `column` and has `page[0]` rows and `page[1]` columns of `rows` ×
 * `columns`.
 */
export interface Values {
  type: "values";
  version: number;
  run: string;
  id: number;
  row: number;
  column: number;
  rows: number;
  columns: number;
  page: [number, number];
  text: string[];
}

/** Histograms of the elements of a value, one for each event, with equal bins from `low` to `high`. */
export interface Histograms {
  type: "histograms";
  version: number;
  run: string;
  id: number;
  low: number;
  high: number;
  bins: number;
  /** The number of events of the value. Not all of them need have a histogram. */
  of: number;
  event: Uint32Array;
  /** `bins` counts for each event. */
  counts: Uint32Array;
  /** The number of elements of each event that were not finite. */
  odd: Uint32Array;
}

export interface FileMessage {
  type: "file";
  version: number;
  run: string;
  id: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The columns of all events; each has `count` elements. */
export interface EventColumns {
  site: Uint32Array;
  time: Float64Array;
  occurrence: Uint32Array;
  lane: Int32Array;
  call: Int32Array;
  execution: Int32Array;
  step: Int32Array;
  inner: Int32Array;
  device: Int32Array;
  /** 1 if the event is a phantom: it fired only because of a `vmap`. */
  phantom: Uint8Array;
  /** The index of its type among the types of its site. */
  type: Uint16Array;
}

export interface PointColumns {
  row: Uint32Array;
  value: Uint16Array;
  /** The index of the element in a small vector. The column is empty if all values are scalars. */
  element: Uint16Array;
  y: Float64Array;
}

/** What threads did. `site` is the site with the host function that ran; -1 for a wait for effects, -2 for outputs. */
export interface SpanColumns {
  site: Int32Array;
  thread: Int32Array;
  from: Float64Array;
  to: Float64Array;
}

export interface Batch extends BatchHeader {
  events: EventColumns;
  points: PointColumns;
  spans: SpanColumns;
  /** The lines; each key is the index of the event in this batch. */
  texts: Map<number, string>;
}

export interface Rows extends RowsHeader {
  /** The lines; each key is the index of the event, counted from `first`. */
  texts: Map<number, string>;
}

export interface ArraySlice extends ArrayHeader {
  /** The numbers row by row, `channels` for each pixel. They are float64 if float32 cannot hold them. */
  pixels: Float32Array | Float64Array;
  histogram: Uint32Array;
}

/** A function in a file, with its first and last line. */
export interface SourceFunction {
  name: string;
  first: number;
  last: number;
}

/** A range of a file that computes the value `name`. Columns count characters, from 0. */
export interface SourceName {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  name: string;
  /** Why it is not watched; empty if it can be watched. */
  why: string;
  /** The pattern with which the next run can watch it; empty if no pattern can. */
  pattern: string;
  /** For a leaf of a tree: the name of the tree. Otherwise empty. */
  root: string;
}

export interface Source {
  type: "source";
  version: number;
  run: string;
  id: number;
  file: string;
  where: string;
  first_line: number;
  lines: string[];
  functions: SourceFunction[];
  names: SourceName[];
}

/** The bundles beside the first: `static/views.js` and so on. */
export type Bundle = "views" | "program" | "lines" | "runs" | "calls";

/** The code of a bundle that is loaded when one of its views is first shown. */
export interface ModuleMessage {
  type: "module";
  version: number;
  run: string;
  id: number;
  name: string;
  text: string;
}

/** The run as Markdown. */
export interface ReportMessage {
  type: "report";
  version: number;
  run: string;
  id: number;
  text: string;
}

/** The answer to a request about a program that belongs to no run. The views of programs know its type. */
export interface ProgramMessage {
  type: "program";
  version: number;
  run: string;
  id: number;
  answer: unknown;
}

export interface Done {
  type: "done";
  version: number;
  run: string;
  id: number;
  /** For the answer to `watch`: the ids of the sites that it concerns. */
  sites?: number[];
}

export interface Failure {
  type: "error";
  version: number;
  run: string;
  id: number;
  message: string;
}

/** The messages that have no columns to unpack. */
type Plain =
  | Values
  | Source
  | Findings
  | StopChange
  | ConsoleOutput
  | TypedBefore
  | Completions
  | ModuleMessage
  | ReportMessage
  | ProgramMessage
  | RunsAnswer
  | ComparedAnswer
  | Done
  | Failure;

export type Message = Batch | Rows | ArraySlice | Histograms | FileMessage | Plain;

export type RequestBody =
  | { type: "sync"; run: string; first: number }
  | { type: "rows"; run: string; first: number; count: number }
  | { type: "array"; run: string; event: number; value: number; index: number[]; image?: true; axes?: number[] }
  | {
      type: "values";
      run: string;
      event: number;
      value: number;
      index: number[];
      axes?: number[];
      row: number;
      column: number;
    }
  | { type: "histograms"; run: string; site: number; value: number }
  | { type: "file"; run: string; format: "parquet" }
  | { type: "file"; run: string; format: "npy"; event: number; value: number }
  | { type: "mute"; run: string; site: number; muted: boolean }
  | { type: "every"; run: string; site: number; n: number }
  | { type: "barrier"; run: string }
  | { type: "breakpoint"; run: string; site: number; enabled?: boolean; skip?: number }
  | { type: "pause" | "halt"; run: string }
  | { type: "here"; run: string; stop: number; keep?: true }
  | { type: "resume"; run: string; stop: number; how: HowToResume; line?: number }
  | { type: "frame"; run: string; stop: number; frame: number }
  | { type: "lane"; run: string; stop: number; lane: number[] }
  /** `quiet` leaves the command out of the console's log. */
  | { type: "command" | "set"; run: string; stop: number; text: string; quiet?: true }
  | { type: "complete"; run: string; stop: number; text: string; cursor: number }
  | {
      type: "local";
      run: string;
      stop: number;
      frame: number;
      name: string;
      index?: number[];
      axes?: number[];
      image?: true;
    }
  | { type: "source"; run: string; file: string }
  | { type: "findings"; run: string }
  | { type: "line"; run: string; line: string; on: boolean }
  | { type: "report"; run: string; picture: boolean }
  | { type: "runs"; run: string }
  | { type: "rename"; run: string; of: string; name: string }
  | { type: "load"; run: string; path: string }
  | { type: "compare"; run: string; runs: string[] }
  | { type: "module"; run: string; name: Bundle }
  | { type: "program"; run: string; what: string }
  | { type: "watch"; run: string; names: string[]; on: boolean };
export type Request = RequestBody & { id: number };

/** Returns the typed message in `content` and its buffers, as a front end delivers them. */
export function decode(content: unknown, buffers: readonly ArrayBufferView[] = []): Message {
  const header = content as BatchHeader | RowsHeader | ArrayHeader | DataHeader | Plain;
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
      const pixels =
        columns.get("data") instanceof Float64Array
          ? take(columns, "data", Float64Array)
          : take(columns, "data", Float32Array);
      return { ...header, pixels, histogram: take(columns, "histogram", Uint32Array) };
    }
    case "histograms": {
      const columns = unpack(header.data, buffers[0]);
      const column = (name: string) => take(columns, name, Uint32Array);
      return {
        ...(header as unknown as Histograms),
        event: column("event"),
        counts: column("counts"),
        odd: column("odd"),
      };
    }
    case "file":
      return {
        ...header,
        type: "file",
        bytes: take(unpack(header.data, buffers[0]), "data", Uint8Array) as FileMessage["bytes"],
      };
    case "stop":
    case "console":
    case "typed":
    case "completions":
    case "source":
    case "findings":
    case "values":
    case "module":
    case "report":
    case "program":
    case "runs":
    case "compared":
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
    execution: take(columns, "execution", Int32Array),
    step: take(columns, "step", Int32Array),
    inner: take(columns, "inner", Int32Array),
    device: take(columns, "device", Int32Array),
    phantom: columns.has("phantom") ? take(columns, "phantom", Uint8Array) : new Uint8Array(header.count),
    type: columns.has("type") ? take(columns, "type", Uint16Array) : new Uint16Array(header.count),
  };
  for (const [name, column] of Object.entries(events)) {
    if (column.length !== header.count) {
      throw new WireError(`column "${name}" has ${column.length} rows, the batch ${header.count}`);
    }
  }
  const points = {
    row: take(columns, "point_row", Uint32Array),
    value: take(columns, "point_value", Uint16Array),
    element: take(columns, "point_element", Uint16Array),
    y: take(columns, "point_y", Float64Array),
  };
  const spans = {
    site: take(columns, "span_site", Int32Array),
    thread: take(columns, "span_thread", Int32Array),
    from: take(columns, "span_from", Float64Array),
    to: take(columns, "span_to", Float64Array),
  };
  return { ...DEFAULT_HEADER, ...header, ...withDefaults(header), events, points, spans, texts: unpackTexts(columns) };
}

const DEFAULT_HEADER = { threads: [], first_span: 0 };
const DEFAULT_STATUS = {
  muted: [],
  every: {},
  added: [],
  nonfinite: null,
  first_nonfinite: null,
  findings: 0,
  checked: "",
  resumed: 0,
  breakpoints: [],
  paused: false,
  stoppable: false,
  captured: true,
  commands: "",
  processes: [],
  copies: {},
  when: "",
  lines: [],
};
const DEFAULT_SITE = {
  type: 0,
  shapes: [],
  dtypes: [],
  order: -1,
  loops: [],
  reverse: [],
  leap: 1,
  end_line: 0,
  end_column: -1,
  callers: [],
  process: 0,
};
const DEFAULT_WATCH = {
  lanes: [],
  value: null,
  gradient: null,
  intended: [],
  choice: "",
  merges: [],
  derivatives: [],
  given_on: [],
  has_ended_lanes: false,
  vmapped: [],
  position: [],
};

/** Adds default values for the fields that a slightly older kernel does not send. */
function withDefaults({ sites, calls, status }: BatchHeader): Pick<BatchHeader, "sites" | "calls" | "status"> {
  return {
    sites: sites.map((site) => ({
      ...DEFAULT_SITE,
      ...site,
      watch: site.watch ? { ...DEFAULT_WATCH, ...site.watch } : null,
    })),
    calls: calls.map((call) => ({ ...{ origin: "", prints: [], thread: "", numba: null, retraced: null }, ...call })),
    status: { ...DEFAULT_STATUS, ...status },
  };
}
