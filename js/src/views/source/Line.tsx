/** One row of the list: a line of code, or an empty place below it, and beside it one of the line's values. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { brief } from "../../kit/format";
import { siteColour } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import { SCALAR } from "../../store/watched";
import type { SiteMessage, SourceName } from "../../transport/wire";
import { pathOf } from "../names/tree";
import { siteName, watchedName } from "../sites/name";
import { Bars } from "./Bars";
import { breakpointAt, toggleBreakpoint } from "./gutter";
import { badOf, factsOf, gradientOf, heatOf, type SeenValue, typeOf } from "./reading";
import { type Piece, piecesOf, type Row, type Value } from "./rows";
import { Spark } from "./Spark";
import { Unseen } from "./Unseen";

interface Props {
  run: RunStore;
  row: Row;
  found: SeenValue | null;
  /** All values whose expressions include a part of this line. The pointer can select them. */
  over: readonly Value[];
  /** The statistic that is shown beside the code. */
  statistic: string;
  isLive: boolean;
  newest: number;
  isCurrent: boolean;
  /** The prints of a line that has no watched value. */
  prints: readonly SiteMessage[];
  /** The names of this line that have no value. */
  unseen: readonly SourceName[];
  /** Whether the program is stopped at this line. */
  isNow: boolean;
  /** The variables that the line has assigned in the frame, as text. */
  assigned: string | undefined;
  /** Runs the program to a line; null if it cannot. */
  runTo: ((line: number) => void) | null;
  /** The line in the kernel's notation: `train.py:41`. */
  place: string;
  isOpen: boolean;
  choose: (event: Event) => void;
  open: () => void;
}

export function Line(props: Props) {
  const { run, row, found, over, isCurrent, isNow, assigned, runTo, place, unseen, prints, isOpen, choose, open } =
    props;
  const { code, index, value, isLast, more } = row;
  const pieces = useMemo(() => piecesOf(code, over), [code, over]);
  const isOff = value && run.status?.muted.includes(value.site.id);
  const state = `${isCurrent ? " current" : ""}${found && !found.earlier && badOf(found) ? " bad" : ""}${isOff ? " off" : ""}${isNow ? " now" : ""}`;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the list moves along its lines with the arrow keys
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div class={`source-row${state}`} data-line={code.line} aria-current={isNow ? "step" : undefined} onClick={choose}>
      <span class="line-number number" {...(value && found && !found.earlier ? striped(heatOf(found)) : {})}>
        {index > 0 ? null : runTo ? (
          <button
            type="button"
            class="run-to"
            tabIndex={-1}
            title="Run to this line (Enter)"
            aria-label={`Run to line ${code.line}: ${code.text.trim()}`}
            onClick={(event) => {
              event.stopPropagation();
              runTo(code.line);
            }}
          >
            {code.line}
          </button>
        ) : (
          <Gutter run={run} place={place} line={code.line} />
        )}
      </span>
      <code class={value || unseen.length || prints.length ? "" : "whole"} title={code.text}>
        {index === 0 ? pieces.map(drawn) : value && <span class="muted again">{watchedName(value.site)}</span>}
        {assigned && <span class="assigned muted">{assigned}</span>}
      </code>
      {value ? (
        <Cells {...props} value={value} />
      ) : prints.length > 0 ? (
        <Printed run={run} prints={prints} />
      ) : (
        <Unseen run={run} names={unseen} />
      )}
      {isLast && (more > 0 || isOpen) && (
        <button
          type="button"
          class="mini others"
          tabIndex={-1}
          aria-expanded={isOpen}
          title={isOpen ? "Show the first values of this line (Space)" : "Show all values of this line (Space)"}
          onClick={(event) => {
            event.stopPropagation();
            open();
          }}
        >
          {isOpen ? "less" : `+${more}`}
        </button>
      )}
    </div>
  );
}

/** The prints of the line. A click on the line inspects them. */
function Printed({ run, prints }: { run: RunStore; prints: readonly SiteMessage[] }) {
  return (
    <span class="why muted" data-testid="printed">
      {prints.map((site) => [...new Set([site.kind, siteName(run, site)])].join(" ")).join(" · ")} ↗
    </span>
  );
}

/** The line number. A click sets or removes a breakpoint. */
function Gutter({ run, place, line }: { run: RunStore; place: string; line: number }) {
  const breakpoint = breakpointAt(run, place);
  const words =
    breakpoint === null
      ? "Set a breakpoint (F9). It stops from the next run on, and in this run only if its program already calls Python at this line"
      : "Remove the breakpoint (F9)";
  return (
    <button
      type="button"
      class={`set-break ${breakpoint ?? ""}`}
      tabIndex={-1}
      disabled={run.gone}
      title={words}
      aria-label={`Breakpoint at line ${line}`}
      aria-pressed={breakpoint !== null}
      data-breakpoint={breakpoint ?? ""}
      onClick={(event) => {
        event.stopPropagation();
        toggleBreakpoint(run, place);
      }}
    >
      {line}
    </button>
  );
}

function Cells({ run, value, found, statistic, isLive, newest }: Props & { value: Value }) {
  const { site } = value;
  const { id } = site;
  const name = watchedName(site);
  const colour = siteColour(run.rank.get(id) ?? 0);
  const bad = found && badOf(found);
  const { size, ratio } = found ? gradientOf(found) : { size: "", ratio: "" };
  const get = (name: string) => brief(found?.get(name) ?? Number.NaN);
  const table = found?.table;
  const shown = table?.isScalar ? SCALAR : statistic;
  const number = found && table?.has(shown) ? get(shown) : "";
  const range = Number.isNaN(found?.get("min")) ? "none finite" : `${get("min")} … ${get("max")}`;
  return (
    <button
      type="button"
      class={`value number${found?.earlier ? " earlier" : ""}`}
      data-testid="value"
      data-name={name}
      data-site={id}
      data-event={found?.table.event(found.row)}
      title="Inspect it (Enter)"
      tabIndex={-1}
      aria-description={factsOf(value, found).join(", ")}
    >
      <span
        class={`value-name${pathOf(name).length > 1 ? " leaf" : ""}`}
        title={name}
        style={{ color: `color-mix(in srgb, var(${colour}) 80%, var(--fg))` }}
      >
        <bdi dir="ltr">
          <bdi>{name}</bdi>
          {value.nth && <small class="muted"> {value.nth}</small>}
        </bdi>
      </span>
      <span class="value-type muted">{typeOf(found?.site ?? site)}</span>
      <span class="value-range" title={table && !table.isScalar ? range : ""}>
        {found?.earlier && <small class="of-earlier">{found.earlier} </small>}
        {!found ? "not yet" : bad ? <b class="bad-text">{bad}</b> : table?.isScalar ? <b>{get(SCALAR)}</b> : range}
      </span>
      <span class="value-mean">
        {found && <Bars site={site} found={found} />}
        {table?.isScalar ? "" : number}
      </span>
      {found && table?.has(shown) ? (
        <Spark table={table} statistic={shown} newest={newest} colour={colour} at={isLive ? null : found.row} />
      ) : (
        <span class="spark" />
      )}
      <span class="value-gradient">
        <span class={/[a-z]{3}/.test(size) ? "bad-text" : "phase-backward"}>{size}</span>
        <span class="muted ratio"> {ratio}</span>
      </span>
    </button>
  );
}

/** Returns the stripe in the gutter for a heat. It is invisible at 0. */
function striped(heat: number) {
  const colour = heat < 0 ? "--accent" : "--bad";
  const strength = Math.round(100 * Math.abs(heat));
  return {
    title: `Elements of about 10^${Math.round(6 * heat)}`,
    style: { boxShadow: `inset -4px 0 color-mix(in srgb, var(${colour}) ${strength}%, transparent)` },
  };
}

function drawn({ text, kind, value, parts }: Piece, i: number): ComponentChildren {
  return (
    <span key={i} class={value ? "can-point" : kind} data-value={value?.site.id}>
      {value ? parts.map(drawn) : text}
    </span>
  );
}
