/** The messages of `tests/wire_cases/`, which the Python side writes and both sides decode. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { StopBody, StopChange } from "../src/transport/stops";
import { type ArraySlice, type Batch, decode, type Rows } from "../src/transport/wire";

const FOLDER = join(import.meta.dirname, "../../tests/wire_cases");
const EXPECTED = ".expected.json";
/** The file with the decoded answer to `array`, beside its message. */
const DECODED = ".decoded.json";

export interface GoldenCase {
  content: Record<string, unknown> & { columns?: [] };
  buffer: DataView;
  expected: { columns: Record<string, (number | string)[]>; texts: Record<string, string> };
}

export function caseNames(): string[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(EXPECTED));
  return files.map((file) => file.slice(0, -EXPECTED.length));
}

export function golden(name: string): GoldenCase {
  const text = (suffix: string) => JSON.parse(readFileSync(join(FOLDER, name + suffix), "utf8"));
  const bytes = Uint8Array.from(readFileSync(join(FOLDER, `${name}.bin`)));
  return {
    content: text(".json"),
    buffer: new DataView(bytes.buffer),
    expected: text(existsSync(join(FOLDER, name + DECODED)) ? DECODED : EXPECTED),
  };
}

export function goldenBatch(name: string, changes: Partial<Batch> = {}): Batch {
  const { content, buffer } = golden(name);
  return { ...(decode(content, [buffer]) as Batch), ...changes };
}

export function goldenRows(changes: Partial<Rows> = {}): Rows {
  const { content, buffer } = golden("rows");
  return { ...(decode(content, [buffer]) as Rows), ...changes };
}

export function goldenArray(name = "array", changes: Partial<ArraySlice> = {}): ArraySlice {
  const { content, buffer } = golden(name);
  return { ...(decode(content, [buffer]) as ArraySlice), ...changes };
}

export function goldenStop(changes: Partial<StopBody> = {}): StopBody {
  const { stop } = decode(golden("stop").content) as StopChange;
  if (!stop) throw new Error("the case has a stop");
  return { ...stop, ...changes };
}
