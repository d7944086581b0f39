/** A slice of an array: heat map or picture, colour bar, statistics, histogram, and the element that is read out. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { count, value } from "../../kit/format";
import type { SliceAnswer } from "../../store/arrays";
import type { ArraySlice } from "../../transport/wire";
import { css, gradient, INF_COLOUR, MINUS_INF_COLOUR, NAN_COLOUR, scaleOf } from "./colours";
import { type Cell, HeatMap } from "./HeatMap";
import { mosaicOf } from "./mosaic";
import { typeName } from "./values";

interface Props {
  /** Undefined until the kernel has answered. */
  answer: SliceAnswer | undefined;
  name: string;
  dark: boolean;
  /** Whether the kernel is gone and will not answer. */
  gone: boolean;
  /** Further actions for the array. */
  children?: ComponentChildren;
}

export function Slice({ answer, name, dark, gone, children }: Props) {
  const [cell, setCell] = useState<Cell | null>(null);
  const slice = useLast(answer);
  const mosaic = useMemo(() => slice && mosaicOf(slice), [slice]);
  if (typeof answer === "string") return <p class="slice bad-text">{answer}</p>;
  if (!slice || !mosaic)
    return <p class="slice muted">{gone ? "The kernel is gone, and with it the array." : "Loading …"}</p>;
  const scale = scaleOf(slice, dark);
  const read = cell && mosaic.at(cell.row, cell.column);
  const isImage = slice.channels !== undefined;
  const label = `${name}, ${typeName(slice.dtype, slice.shape)}: ${statistics(slice)}`;
  return (
    <div class={`slice${answer ? "" : " stale"}`} data-testid="slice" data-event={slice.event}>
      <div class="slice-picture">
        <HeatMap slice={mosaic.picture} scale={scale} label={label} onRead={setCell} />
        {/* Without a finite number, there is no scale. */}
        {!isImage && slice.stats.min !== null && (
          <div class="colour-bar mono number" aria-hidden="true">
            <span style={{ background: gradient(scale) }} />
            {/* If all finite numbers are equal, there is one label. */}
            {[...new Set([scale.high, (scale.low + scale.high) / 2, scale.low])].map((one) => (
              <small key={one}>{value(one)}</small>
            ))}
          </div>
        )}
        <Histogram slice={slice} />
      </div>
      <output class="slice-line mono number" data-testid="slice-line">
        {read ? reading(read) : <Statistics slice={slice} />}
      </output>
      {children}
    </div>
  );
}

/** Returns the slice of the answer. Until there is one, returns the previous slice, which stays on the screen. */
export function useLast(answer: SliceAnswer | undefined): ArraySlice | undefined {
  const last = useRef<ArraySlice>();
  if (typeof answer === "object") last.current = answer;
  return last.current;
}

function Statistics({ slice }: { slice: ArraySlice }) {
  const { stats, stride, tiles } = slice;
  const nonFinite = [
    [stats.nan, "nan", NAN_COLOUR],
    [stats.inf, "infinite", INF_COLOUR],
  ] as const;
  return (
    <>
      <b>{typeName(slice.dtype, slice.shape)}</b> {statistics(slice)}
      {nonFinite.map(
        ([n, name, colour]) =>
          n > 0 && (
            <span key={name} class="bad-text">
              {" "}
              <i class="array-swatch" style={{ background: css(colour) }} />
              {name === "infinite" && <i class="array-swatch" style={{ background: css(MINUS_INF_COLOUR) }} />}{" "}
              {count(n)} {name}
            </span>
          ),
      )}
      {tiles && tiles[0] < tiles[1] && (
        <span class="muted">
          {" "}
          · {count(tiles[0])} of {count(tiles[1])} tiles
        </span>
      )}
      {stride.some((step) => step > 1) && <span class="muted"> · each pixel stands for {stride.join(" × ")}</span>}
    </>
  );
}

function statistics({ stats }: ArraySlice): string {
  const finite = (["min", "mean", "max", "std"] as const)
    .filter((name) => stats[name] !== null)
    .map((name) => `${name} ${value(stats[name] as number)}`);
  return [...finite, `${count(stats.zero)} of ${count(stats.size)} zero`].join(" · ");
}

function reading({ index, numbers }: { index: number[]; numbers: number[] }): string {
  return `[${index.join(", ")}] = ${numbers.map(value).join(" ")}`;
}

function Histogram({ slice: { histogram, stats } }: { slice: ArraySlice }) {
  const most = Math.max(...histogram);
  if (most <= 0) return null;
  const bars = [...histogram].map((n, i) => `M${i} 1V${1 - n / most}h1V1`).join("");
  return (
    <figure class="histogram mono number">
      <svg viewBox={`0 0 ${histogram.length} 1`} preserveAspectRatio="none" role="img" aria-label="Histogram">
        <path d={bars} />
      </svg>
      <figcaption>
        <small>{value(stats.min ?? 0)}</small>
        <small>{value(stats.max ?? 0)}</small>
      </figcaption>
    </figure>
  );
}
