/** Reads the columns of a message from its buffer: the twin of `pack` and `unpack` in `transport/columns.py`. */

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

export class WireError extends Error {
  override name = "WireError";
}

/** Returns the columns in `buffer` as views. An unaligned buffer is copied first. */
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

export function unpackTexts(columns: ReadonlyMap<string, Column>): Map<number, string> {
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

/** Returns the column `name`; an empty one if the message has none. */
export function take<T extends Column>(
  columns: ReadonlyMap<string, Column>,
  name: string,
  type: new (length: number) => T,
): T {
  const column = columns.get(name) ?? new type(0);
  if (!(column instanceof type)) throw new WireError(`column "${name}" is a ${column.constructor.name}`);
  return column;
}
