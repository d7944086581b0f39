/** One event as a line: the colour of its site, which firing it was, the text as printed, where it comes from. */
import type { ComponentChildren } from "preact";
import { count } from "../../kit/format";
import { siteColour } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { SiteMessage } from "../../transport/wire";

const NON_FINITE = /([-+]?\b(?:nan|inf)\b)/i;
/** Longer lines are cut here; the detail shows all. */
const MOST_CHARACTERS = 400;

interface Props {
  run: RunStore;
  ui: UiState;
  position: number;
}

export function Row({ run, ui, position }: Props) {
  run.watch();
  const { log } = run;
  const gap = log.gapCount(position);
  if (gap > 0) return <div class="row gap">{count(gap)} events dropped</div>;
  const number = log.number(position);
  const id = log.site(position);
  const site = run.sites.get(id);
  const text = run.texts.get(number);
  const selected = ui.event.value === number;
  const select = () => {
    ui.event.value = selected ? null : number;
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the list moves the selection with the arrow keys
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div class={`row${selected ? " selected" : ""}`} onClick={select} data-event={number}>
      <span class="bar" style={{ background: `var(${siteColour(run.rank.get(id) ?? 0)})` }} />
      <span class="step number">{log.occurrence(position)}</span>
      {text === undefined ? (
        <span class="text muted">{number < run.oldest ? "dropped" : "…"}</span>
      ) : (
        <Text text={text} scalar={run.series.has(id)} select={select} expanded={selected} />
      )}
      <Tags site={site} lane={log.lane(position)} />
    </div>
  );
}

interface TextProps {
  text: string;
  scalar: boolean;
  expanded: boolean;
  select: () => void;
}

function Text({ text, scalar, expanded, select }: TextProps) {
  const lines = text.split("\n");
  const line = (lines[0] as string).slice(0, MOST_CHARACTERS);
  return (
    <span class="text">
      {scalar ? markNonFinite(line) : line}
      {lines.length > 1 && (
        <button
          type="button"
          class="expander"
          aria-expanded={expanded}
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

function Tags({ site, lane }: { site: SiteMessage | undefined; lane: number }) {
  const phase = site && site.phase !== "forward" ? site.phase : "";
  return (
    <span class="tags">
      {phase && <span class={`tag phase-${phase}`}>{phase}</span>}
      {lane >= 0 && <span class="tag">lane {lane}</span>}
      <span class="tag where">{site?.where}</span>
    </span>
  );
}

function markNonFinite(line: string): ComponentChildren {
  const parts = line.split(NON_FINITE);
  if (parts.length === 1) return line;
  // `split` puts what the group caught at the odd places.
  return parts.map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part));
}
