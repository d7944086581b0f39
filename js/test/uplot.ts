/** In place of uPlot, which needs a canvas: draws nothing. For `vi.mock("uplot", …)`. */
import type uPlot from "uplot";

export async function fakeUplot(original: () => Promise<unknown>): Promise<{ default: unknown }> {
  const { join, rangeLog } = ((await original()) as { default: typeof uPlot }).default;
  class FakeUplot {
    static readonly join = join;
    static readonly rangeLog = rangeLog;
    setData(): void {}
    setSize(): void {}
    destroy(): void {}
  }
  return { default: FakeUplot };
}
