/**
 * The messages between kernel and browser; the twin of `wire.py`, `requests.py`, `run_messages.py` and `answers.py` in
 * `jax_debug_widgets/transport`, which document them.
 *
 * Both are tested on the same bytes, `tests/wire_cases/`.
 *
 * It has more than 300 lines because every message has its type here, as in the kernel's half.
 */

import type { ComparedAnswer, RunsAnswer } from "../store/rows";
import { type Column, type ColumnSpec, take, unpack, unpackTexts, WireError } from "./columns";
import type { ArrayStatistics, Completions, ConsoleOutput, HowToResume, StopChange, TypedBefore } from "./stops";

export type { ArrayStatistics } from "./stops";

export const VERSION = 1;

/** What a watched value is. */
export interface WatchMessage {
  name: string;
  role: "value" | "gradient";
  shape: number[];
  dtype: string;
  primitive: string;
  /** The named scopes around it, `layer0/mlp`. */
  scope: string;
  /** Whether `values` can be asked for; the value itself is then the last of its site's `values`. */
  full: boolean;
  /** Sizes of its `vmap` axes, outermost first, where `lanes` is one of its site's `values`: the statistics of each lane. */
  lanes: number[];
  /** Of a gradient the id of the site of its value, -1 where it has none that comes before. */
  value: number | null;
  /** Of a value the id of the site of its gradient, where that came first. */
  gradient: number | null;
  /** Those of `posinf` and `neginf` that the source puts there: a mask. */
  meant: string[];
  /** What may mask a NaN of it, `jnp.where(x > 0, h, 0.0) at model.py:7`; empty where nothing does. */
  choice: string;
  /** For each of the site's values how those of several lanes or devices become that of all; "" where nothing does. */
  merges: string[];
  /** Of a gradient what it is computed from, as far as one program shows it. */
  derivatives: DerivativeMessage[];
  /** The names that the next iteration of its loop has for it. */
  given_on: string[];
  /** Its statistics count lanes that have left their vmapped `while`. */
  has_ended_lanes: boolean;
  /** Sizes of its `vmap` axes, outermost first, also where nothing is recorded by lane. */
  vmapped: number[];
  /** The numbers of the equations around it and of its own, outermost first; in a loop it ends with the outermost one. */
  position: number[];
}

/** A value that had a NaN after the one that a finding is about. */
export interface FollowerMessage {
  where: string;
  label: string;
  site: number;
  event: number;
}

/** Something that the user should know of the run. */
export interface FindingMessage {
  kind: string;
  /** 0 an error, 1 a wrong result, 2 lost precision, 3 lost time. */
  severity: number;
  where: string;
  headline: string;
  why: string;
  advice: string;
  /** The lines to write instead. */
  fix: string[];
  /** Where to look; "" and 0 where it is about no line. */
  file: string;
  line: number;
  first_line: number;
  /** The source from `first_line` up to `line`. */
  lines: string[];
  /** What shows it, -1 where nothing does. */
  site: number;
  event: number;
  /** The `vmap` lane that shows it first; empty where none is known. */
  lane: number[];
  /** The address of the section of JAX's documentation that explains this kind; empty where none does. */
  section: string;
  /** The first of those that came later. */
  followers: FollowerMessage[];
  /** How many came later. */
  following: number;
}

export interface Findings {
  type: "findings";
  version: number;
  run: string;
  id: number;
  findings: FindingMessage[];
}

/** A line whose derivative computes a gradient. */
export interface DerivativeMessage {
  /** The expression that is differentiated. */
  text: string;
  file: string;
  line: number;
  /** What a person calls the place. */
  where: string;
}

/** There is one for each type that a site was compiled for. */
export interface SiteMessage {
  id: number;
  /** Which of its types: the column `type` has the type of each event. */
  type: number;
  kind: string;
  ordered: boolean;
  phase: string;
  where: string;
  file: string;
  line: number;
  column: number;
  /** 0 and -1 where the range is not known. */
  end_line: number;
  end_column: number;
  function: string;
  source: string;
  label: string;
  values: string[];
  shapes: number[][];
  dtypes: string[];
  /** Its place in its program's order, -1 where that is not known. */
  order: number;
  /** How often each loop around it runs, outermost first; null where only run time tells. */
  loops: (number | null)[];
  reverse: boolean[];
  /** The n of each n-th iteration of the outermost that it fires in. */
  leap: number;
  name_stack: string;
  transforms: string[];
  /** The calls that lead to it, innermost first. */
  callers: string[];
  /** The number of the process that it fires in. */
  process: number;
  /** Of a site of kind `watch`: its range is what computes the value, its `values` are names of statistics. */
  watch: WatchMessage | null;
}

export interface CallMessage {
  id: number;
  name: string;
  /** The name of its function: `name` may be the expression in the cell. */
  function: string;
  /** `cell` for a call written in the cell. */
  origin: string;
  state: string;
  started: number;
  trace: number | null;
  lower: number | null;
  compile: number | null;
  /** Seconds in which Numba was loaded, and once for an environment compiled what reads watched values; no part of the others. */
  numba: number | null;
  /** Until when it waited for the calls of its thread before it, in seconds since the run started. */
  queued: number;
  /**
   * Of the calls that follow one another without a pause: when the first was dispatched, the number of this one, and how
   * many there must be for their mean to be told.
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
  /** What Python's `print` wrote while its function was traced. */
  prints: string[];
  /** The Python thread that made it. */
  thread: string;
}

export interface BarrierMessage {
  state: string;
  pending: string[];
  waited: number;
  timeout: number | null;
  /** When somebody waited, in seconds since the run started: from, and to (null: still). */
  waits: [number, number | null][];
}

/** A place where the program may stop. */
export interface BreakpointMessage {
  site: number;
  name: string;
  where: string;
  condition: string;
  enabled: boolean;
  /** How many more firings are let pass. */
  skip: number;
  /** How often it was reached. */
  hits: number;
  /** What it does to the program, empty for nothing. */
  cost: string;
}

/** How many numbers were NaN and how many infinite, and the number of the first event with one. */
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
  /** How long it has given no sign, or that it is gone; "" while it goes on, and when it is over. */
  sign: string;
  /** Its last call, and how far that has come. */
  last: string;
}

/** The event with the first NaN or infinity of all: whether it has a NaN, and whether a choice may leave it out. */
export interface FirstNonFiniteMessage {
  site: number;
  event: number;
  nan: boolean;
  masked: boolean;
  /** The `vmap` lane, of nested ones the outermost first; empty where none is known. */
  lane: number[];
  /** The line that is named: where a check has seen it born, else the derivative or the site that it comes from. */
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
  /** By site, of how many firings one is recorded, where somebody said so. */
  every: Record<string, number>;
  /** What the next run watches as well, see `SourceName.pattern`. */
  added: string[];
  /** Among what the streams show; null where all was finite. */
  nonfinite: NonFiniteMessage | null;
  /** As the findings name it; null where all was finite. */
  first_nonfinite: FirstNonFiniteMessage | null;
  /** How many findings there are. */
  findings: number;
  /** When the debugger last let the program go on, in seconds since the run started; 0 where it never stopped. */
  resumed: number;
  barrier: BarrierMessage;
  notes: string[];
  breakpoints: BreakpointMessage[];
  /** It is at a stop. */
  paused: boolean;
  /** Whether `pause` and `halt` would take effect at its next event. */
  stoppable: boolean;
  /** False where only the breakpoints of programs compiled outside a capture are seen. */
  captured: boolean;
  /** In words, how requests reach the kernel while a cell runs. */
  commands: string;
  /** Of a run of several. */
  processes: ProcessMessage[];
  /** By site, the site of another process that has the same values. */
  copies: Record<string, number>;
  /** The condition under which watched values are taken, "" for always. */
  when: string;
  /** Where the next run stops, `train.py:41`. */
  lines: string[];
  /** What watching is expected to cost, one of the notes; "" where nothing is watched. */
  cost: string;
  /** How many programs were compiled that are of no call, as operations outside `jit`, and in how many seconds. */
  apart: readonly [number, number];
  /** The checks that ran and found nothing, `oob, keys`; "" where none was asked for, or something was found. */
  checked: string;
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
  /** Names, by what the column `device` says. */
  devices: string[];
  /** Names, by what the column `span_thread` says. */
  threads: string[];
  /** How many spans came before. */
  first_span: number;
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

export interface ArrayHeader {
  type: "array";
  version: number;
  run: string;
  id: number;
  /** -1, as `value`, where it is a variable of a stop's frame. */
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
  /** Which are rows and columns, and those that are tiled: pictures one after the other, so many and of so many. */
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

/** Numbers as text: `page[0]` rows of `page[1]`, from `row`, `column` of `rows`, `columns` on. */
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

/** How the elements of a value are spread, event by event, over equal bins from `low` to `high`. */
export interface Histograms {
  type: "histograms";
  version: number;
  run: string;
  id: number;
  low: number;
  high: number;
  bins: number;
  /** How many events there are; not all may have been looked at. */
  of: number;
  event: Uint32Array;
  /** `bins` for each event. */
  counts: Uint32Array;
  /** How many elements were not finite. */
  odd: Uint32Array;
}

export interface FileMessage {
  type: "file";
  version: number;
  run: string;
  id: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The columns that every event has, all of length `count`. */
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
  /** 1 where only a `vmap` made it fire. */
  phantom: Uint8Array;
  /** Which of its site's types it is of. */
  type: Uint16Array;
}

export interface PointColumns {
  row: Uint32Array;
  value: Uint16Array;
  /** Which element of a small vector; shorter than the others where all are scalars. */
  element: Uint16Array;
  y: Float64Array;
}

/** What threads were at: a host function of a site; -1 waiting for effects, -2 for outputs. */
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
  /** The lines by row of this batch. */
  texts: Map<number, string>;
}

export interface Rows extends RowsHeader {
  /** The lines by row, counted from `first`. */
  texts: Map<number, string>;
}

export interface ArraySlice extends ArrayHeader {
  /** Row by row, `channels` for each; float64 where float32 cannot hold them. */
  pixels: Float32Array | Float64Array;
  histogram: Uint32Array;
}

/** A function of a file. */
export interface SourceFunction {
  name: string;
  first: number;
  last: number;
}

/** A range of a file that computes what `name` stands for; columns count characters. */
export interface SourceName {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  name: string;
  /** Why it is not watched; empty where it can be. */
  why: string;
  /** By what the next run can watch it; empty where asking would not help. */
  pattern: string;
  /** Of a leaf the name of its tree, which comes before it; empty for others. */
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

/** The text of a part of the front end that is loaded when it is first shown. */
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

/** What is asked of a program that belongs to no run: its views know what it is. */
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
  /** Answering `watch`: the sites concerned. */
  sites?: number[];
}

export interface Failure {
  type: "error";
  version: number;
  run: string;
  id: number;
  message: string;
}

/** Messages that are as they come, without buffers to unpack. */
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
  | { type: "command" | "set"; run: string; stop: number; text: string /** Not among what was typed. */; quiet?: true }
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
  | { type: "module"; run: string; name: "views" | "program" | "lines" | "runs" }
  | { type: "program"; run: string; what: string }
  | { type: "watch"; run: string; names: string[]; on: boolean };
export type Request = RequestBody & { id: number };

/** The typed message in `content` and its buffers, as a host hands them over. */
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
  return { ...UNTOLD_HEADER, ...header, ...completed(header), events, points, spans, texts: unpackTexts(columns) };
}

const UNTOLD_HEADER = { threads: [], first_span: 0 };
const UNTOLD_STATUS = {
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
const UNTOLD = {
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
const UNTOLD_WATCH = {
  lanes: [],
  value: null,
  gradient: null,
  meant: [],
  choice: "",
  merges: [],
  derivatives: [],
  given_on: [],
  has_ended_lanes: false,
  vmapped: [],
  position: [],
};

/** With what a kernel that is a little older than this page leaves out. */
function completed({ sites, calls, status }: BatchHeader): Pick<BatchHeader, "sites" | "calls" | "status"> {
  return {
    sites: sites.map((site) => ({ ...UNTOLD, ...site, watch: site.watch ? { ...UNTOLD_WATCH, ...site.watch } : null })),
    calls: calls.map((call) => ({ ...{ origin: "", prints: [], thread: "", numba: null, retraced: null }, ...call })),
    status: { ...UNTOLD_STATUS, ...status },
  };
}
