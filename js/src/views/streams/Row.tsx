/** One event as a line: the colour of its site, its step, its text, and its source line. */
import type { ComponentChildren } from "preact";
import { plural } from "../../kit/format";
import { siteColour } from "../../kit/theme";
import type { OrderMark } from "../../store/order";
import { toggleTerm } from "../../store/query";
import type { RunStore } from "../../store/run";
import { firingOf, stepsOf } from "../../store/steps";
import type { UiState } from "../../store/ui";
import type { SiteMessage } from "../../transport/wire";
import { Styled } from "./Styled";

const NON_FINITE = /([-+]?\b(?:nan|inf)\b)/i;
const ORDER_WORDS: Readonly<Record<OrderMark, string>> = {
  early: "Arrived before a print of the same step that is earlier in the program",
  late: "Arrived after a print of the same step that is later in the program",
};
const PHANTOM =
  "Printed only because vmap runs every branch of a cond, and a while loop until its last lane has finished";
/** The length at which a line is cut. The opened event shows all of it. */
export const MOST_CHARACTERS = 400;

interface Props {
  run: RunStore;
  ui: UiState;
  position: number;
  /** The search, whose matches are marked; null for none. */
  find: RegExp | null;
}

export function Row({ run, ui, position, find }: Props) {
  run.watch();
  const { log } = run;
  const gap = log.gapCount(position);
  if (gap > 0) return <div class="row gap">{plural(gap, "print")} dropped</div>;
  const number = log.number(position);
  const id = log.site(position);
  const site = run.siteAt(position);
  const text = run.texts.get(number);
  const steps = stepsOf(log, position, site);
  const expanded = ui.event.value === number;
  const phantom = log.phantom(position);
  const select = (extend = false) => {
    ui.anchor.value = extend ? (ui.anchor.value ?? ui.event.value) : null;
    ui.event.value = expanded && !extend ? null : number;
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the list moves the selection with the arrow keys
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div
      class={`row${stateOf(ui, number)}${phantom ? " phantom" : ""}`}
      onClick={(event) => select(event.shiftKey)}
      data-event={number}
    >
      <span class="bar" style={{ background: `var(${siteColour(run.rank.get(id) ?? 0)})` }} />
      <span
        class="step number"
        title={steps.length > 0 ? `step ${steps.join(", ")}` : "how many times this line had printed before"}
      >
        {steps.join("·") || firingOf(log, position, site)}
      </span>
      {text === undefined ? (
        <span class="text muted">{number < run.oldest ? "dropped" : "…"}</span>
      ) : (
        <Text
          run={run}
          text={text}
          colours={run.texts.withStyles(number)}
          scalar={run.series.has(id)}
          find={find}
          select={select}
          expanded={expanded}
        />
      )}
      <Tags
        ui={ui}
        site={site}
        process={(run.status?.processes.length ?? 0) > 0}
        lane={log.lane(position)}
        device={run.devices[log.device(position)]}
        phantom={phantom}
        order={run.order.mark(number)}
      />
    </div>
  );
}

/** Returns CSS classes: selected, or later than the shown moment. */
function stateOf({ event, anchor, moment }: UiState, number: number): string {
  const [last, first] = [event.value, anchor.value ?? event.value];
  const selected =
    last !== null && first !== null && number >= Math.min(first, last) && number <= Math.max(first, last);
  const later = moment.value !== null && number > moment.value;
  return `${selected ? " selected" : ""}${later ? " later" : ""}`;
}

interface TextProps {
  run: RunStore;
  text: string;
  /** The text with its escape codes of colours; undefined if it has none. */
  colours: string | undefined;
  scalar: boolean;
  find: RegExp | null;
  expanded: boolean;
  select: () => void;
}

/** The text of the line. By keyboard, selecting a line opens it. */
function Text({ run, text, colours, scalar, find, expanded, select }: TextProps) {
  const lines = text.split("\n");
  const line = (lines[0] as string).slice(0, MOST_CHARACTERS);
  return (
    <span class="text" title={text.slice(0, MOST_CHARACTERS)}>
      <bdi class="line">
        {find?.test(line) ? (
          markFound(line, find)
        ) : colours !== undefined ? (
          <Styled run={run} text={colours} most={MOST_CHARACTERS} />
        ) : scalar ? (
          markNonFinite(line)
        ) : (
          line
        )}
      </bdi>
      {lines.length > 1 && (
        <button
          type="button"
          class="expander"
          tabIndex={-1}
          aria-expanded={expanded}
          title={expanded ? `Show the first of ${lines.length} lines` : `Show all ${lines.length} lines`}
          onClick={(event) => {
            event.stopPropagation();
            select();
          }}
        >
          ⏎ {lines.length} lines
        </button>
      )}
    </span>
  );
}

interface TagsProps {
  ui: UiState;
  site: SiteMessage | undefined;
  /** Whether the run has several processes. */
  process: boolean;
  lane: number;
  device: string | undefined;
  phantom: boolean;
  order: OrderMark | undefined;
}

function Tags({ ui, site, process, lane, device, phantom, order }: TagsProps) {
  const phase = site && site.phase !== "forward" ? site.phase : "";
  return (
    <span class="tags">
      {order && (
        <span class="inversion" title={ORDER_WORDS[order]}>
          {order === "early" ? "↑" : "↓"}
        </span>
      )}
      {phantom && (
        <span class="tag badge" title={PHANTOM}>
          phantom
        </span>
      )}
      {phase && <Tag ui={ui} term={`phase:${phase}`} kind={`phase-${phase}`} words={phase} />}
      {process && site && <Tag ui={ui} term={`process:${site.process}`} words={`process ${site.process}`} />}
      {lane >= 0 && <Tag ui={ui} term={`lane:${lane}`} words={`lane ${lane}`} />}
      {device && <Tag ui={ui} term={`device:${device}`} words={device} />}
      <span class="tag where">{site?.where}</span>
    </span>
  );
}

/**
 * A tag that filters by its term when clicked. By keyboard, the user types the filter or uses the chips beside the
 * sites.
 */
function Tag({ ui, term, words, kind = "" }: { ui: UiState; term: string; words: string; kind?: string }) {
  return (
    <button
      type="button"
      class={`tag ${kind}`}
      tabIndex={-1}
      title={`Filter by ${term}, or remove that filter`}
      onClick={(event) => {
        event.stopPropagation();
        ui.filter.value = toggleTerm(ui.filter.value, term);
      }}
    >
      {words}
    </button>
  );
}

function markNonFinite(line: string): ComponentChildren {
  const parts = line.split(NON_FINITE);
  if (parts.length === 1) return line;
  // `split` puts the captured groups at the odd indices.
  return parts.map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part));
}

function markFound(line: string, find: RegExp): ComponentChildren {
  const hit = find.exec(line);
  if (!hit?.[0]) return line;
  const end = hit.index + hit[0].length;
  return (
    <>
      {line.slice(0, hit.index)}
      <mark class="hit">{hit[0]}</mark>
      {line.slice(end)}
    </>
  );
}
