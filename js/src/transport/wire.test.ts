import { describe, expect, it } from "vitest";
import { caseNames, golden } from "../../test/golden";
import { unpack, WireError } from "./columns";
import { type ArraySlice, decode } from "./wire";

function asExpected(column: ArrayLike<number>): (number | string)[] {
  return Array.from(column, (value) => (Number.isFinite(value) ? value : String(value)));
}

describe.each(caseNames())("case %s", (name) => {
  const { content, buffer, expected } = golden(name);

  it("the reader returns the columns that Python wrote", () => {
    const columns = unpack(content.columns ?? [], buffer);
    const actual = Object.fromEntries([...columns].map(([column, values]) => [column, asExpected(values)]));
    expect(actual).toEqual(expected.columns);
  });

  it("the reader accepts a buffer that is not aligned", () => {
    const shifted = new Uint8Array(buffer.byteLength + 3);
    shifted.set(new Uint8Array(buffer.buffer), 3);
    const columns = unpack(content.columns ?? [], new DataView(shifted.buffer, 3));
    expect(Object.fromEntries([...columns].map(([column, values]) => [column, asExpected(values)]))).toEqual(
      expected.columns,
    );
  });

  it("the reader returns the texts", () => {
    const message = decode(content, [buffer]);
    const texts = "texts" in message ? Object.fromEntries(message.texts) : {};
    expect(texts).toEqual(expected.texts);
    expect(message.type).toBe(content.type);
  });
});

describe("an array", () => {
  it.each(["array", "image"])("%s gives the numbers that Python wrote", (name) => {
    const { content, buffer, expected } = golden(name);
    const slice = decode(content, [buffer]) as ArraySlice;
    expect({ data: asExpected(slice.pixels), histogram: asExpected(slice.histogram) }).toEqual(expected.columns);
    expect(slice.pixels).toHaveLength(slice.rows * slice.columns * (slice.channels ?? 1));
  });
});

describe("numbers that float32 cannot hold", () => {
  it("are shown as they are", () => {
    const { content } = golden("array");
    const data = [{ name: "data", dtype: "float64", offset: 0, length: 2 }];
    const slice = decode({ ...content, rows: 1, columns: 2, data }, [Float64Array.of(1e300, -1e300)]) as ArraySlice;
    expect([...slice.pixels]).toEqual([1e300, -1e300]);
  });
});

describe("decode", () => {
  it("completes messages of an older kernel", () => {
    const { content, buffer } = golden("small");
    const sites = (content.sites as Record<string, unknown>[]).map(({ id, ordered, values }) => ({
      id,
      ordered,
      values,
    }));
    const { status, ...rest } = content;
    const { muted: _, ...older } = status as Record<string, unknown>;
    expect(decode({ ...rest, sites, status: older }, [buffer])).toMatchObject({
      sites: [{ shapes: [], order: -1 }, { dtypes: [] }],
      status: { muted: [] },
    });
  });

  it("reads aligned columns in place", () => {
    const { content, buffer } = golden("large");
    const column = unpack(content.columns ?? [], buffer).get("time");
    expect(column?.buffer).toBe(buffer.buffer);
  });

  it("refuses unknown messages", () => {
    expect(() => decode({ type: "poem", version: 1 })).toThrow(WireError);
    expect(() => decode({ type: "done", version: 99 })).toThrow(/reload the page/);
    expect(() => unpack([{ name: "a", dtype: "int64", offset: 0, length: 0 }])).toThrow(/unknown dtype/);
    expect(() => unpack([{ name: "a", dtype: "constructor", offset: 0, length: 0 }])).toThrow(/unknown dtype/);
  });

  it("refuses columns that are not in the buffer", () => {
    const buffer = new DataView(new ArrayBuffer(16));
    expect(() => unpack([{ name: "a", dtype: "float64", offset: 8, length: 2 }], buffer)).toThrow(/not in a buffer/);
    expect(() => unpack([{ name: "a", dtype: "uint8", offset: 4, length: 2 }], buffer)).toThrow(/not in a buffer/);
    const { content, buffer: small } = golden("small");
    expect(() => decode({ ...content, count: 4 }, [small])).toThrow(/has 5 rows, the batch 4/);
  });
});
