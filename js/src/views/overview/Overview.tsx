/** What a person would ask first: how far, how fast, how good, what is wrong; with pictures that nobody had to ask for. */
import { useCallback, useMemo, useState } from "preact/hooks";
import { count, plural } from "../../kit/format";
import { copy } from "../../kit/give";
import { useSlowly } from "../../kit/slowly";
import { factsOf } from "../../store/headline";
import { apartInWords, launched } from "../../store/life";
import type { RunStore } from "../../store/run";
import type { Series } from "../../store/series";
import type { UiState } from "../../store/ui";
import type { StatusMessage } from "../../transport/wire";
import { useFindings } from "../findings/useFindings";
import { Hits } from "../later/Later";
import { TabLink } from "../panel/TabLink";
import { ChartTools } from "../plots/ChartTools";
import type { Range } from "../plots/drawn";
import { byName, type Chart, type Group, gradientsOf, knownOf, ratiosOf, scalarsOf, spreadsOf } from "./contents";
import { Facts } from "./Facts";
import { goToFact, goToValue } from "./go";
import { LastPrints, LatestFindings, Worst, wrongOf } from "./Latest";
import { Lines, type OneLine, type Shared } from "./Lines";

/** Between two drawings while the run goes on. */
const DRAWN_MS = 250;
/** Charts of numbers that are drawn without asking. */
const SCALARS = 3;
/** See `rankOf`. */
const EXPRESSION = 4;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: boolean;
}

export function Overview({ run, ui, dark }: Props) {
  const watch = useCallback(() => run.watch(), [run]);
  const at = useSlowly(watch, DRAWN_MS);
  // The same element is not drawn again; nor is one with the same properties, so that `at` is one of them.
  return useMemo(() => <Contents run={run} ui={ui} dark={dark} at={at} />, [run, ui, dark, at]);
}

function Contents({ run, ui, dark, at }: Props & { at: number }) {
  const onZoom = (zoom: Range | null) => {
    ui.zoom.value = zoom;
  };
  const [all, setAll] = useState(false);
  const scalars = scalarsOf(run);
  const { findings } = useFindings(run, (run.status?.findings ?? 0) > 0);
  const known = knownOf(run, scalars, findings ?? []);
  const facts = factsOf(known);
  const worst = wrongOf(findings ?? []);
  const [gradients, spreads, ratios] = [gradientsOf(run), spreadsOf(run), ratiosOf(run)];
  const shared: Shared = { run, ui, dark, zoom: ui.zoom.value, onZoom, bad: known.nan?.step ?? null };
  const open = (series: Series) => goToValue(run, ui, series);
  const named = scalars.filter(({ rank }) => rank < EXPRESSION);
  const charts = byName(all || named.length === 0 ? scalars : named);
  const [lead, ...others] = all ? charts : charts.slice(0, SCALARS - (ratios.lines.length > 0 ? 1 : 0));
  const left = scalars.length - [lead, ...others].reduce((sum, one) => sum + (one?.lines.length ?? 0), 0);
  const isEmpty = scalars.length === 0 && gradients.lines.length === 0 && spreads.lines.length === 0;
  const ofNumbers = ({ name, where, lines }: Chart) => (
    <Lines key={name} {...shared} title={name} note={where} lines={lines} open={open} />
  );
  return (
    <div class="overview" data-testid="overview">
      {facts.length > 0 && (
        <Facts
          facts={facts}
          go={({ id }) => {
            const [loss, quality] = [0, 1].map((rank) => scalars.find((one) => one.rank === rank)?.series);
            goToFact(run, ui, id, { loss, quality, findings: findings ?? [] });
          }}
        />
      )}
      {worst && <Worst run={run} ui={ui} findings={findings ?? []} worst={worst} />}
      {isEmpty ? (
        <Nothing
          ui={ui}
          goesOn={run.active && !run.gone}
          failed={run.status?.state === "failed"}
          prepares={run.calls.size > 0 && ![...run.calls.values()].some(launched)}
          watched={run.watched.tables.size}
          apart={run.status?.apart}
          checked={run.status?.checked ?? ""}
        />
      ) : (
        <>
          <div class="chart-tools">
            <ChartTools ui={ui} view="overview" />
          </div>
          <div class="charts" data-testid="charts">
            {lead && ofNumbers(lead)}
            <GroupChart {...shared} title="Gradient norms" of={gradients} note="log" logarithmic open={open} />
            {others.map(ofNumbers)}
            <GroupChart {...shared} title="Update / weight" of={ratios} note="log" logarithmic open={open} />
            <GroupChart {...shared} title="Std of values" of={spreads} note="" open={open} />
          </div>
          {left > 0 && (
            <button
              type="button"
              class="button more-lines"
              title="Draw these lines as well"
              onClick={() => setAll(true)}
            >
              {plural(left, "more value")}
            </button>
          )}
        </>
      )}
      <div class="latest-both">
        {run.status?.when && <Hits run={run} ui={ui} at={at} />}
        <LastPrints run={run} ui={ui} at={at} />
        <LatestFindings run={run} ui={ui} findings={(findings ?? []).filter((one) => one !== worst)} />
      </div>
      <Cost sentences={run.status?.cost ?? ""} />
      <Report run={run} gone={run.gone} />
    </div>
  );
}

interface GroupProps extends Shared {
  title: string;
  of: Group;
  note: string;
  logarithmic?: boolean;
  open: (series: Series) => void;
}

function GroupChart({ of: { lines, more }, note, ...props }: GroupProps) {
  if (lines.length === 0) return null;
  const all = lines.map(
    ({ series, group, leaf, hue, dashed }): OneLine => ({
      series,
      group: leaf ? group : "",
      name: leaf || group,
      hue,
      dashed,
    }),
  );
  const left = more > 0 && `${count(more)} more in Code`;
  return <Lines {...props} note={[note, left].filter(Boolean).join(", ")} lines={all} />;
}

/** The run as Markdown, in the clipboard. */
function Report({ run, gone }: { run: RunStore; gone: boolean }) {
  const [done, setDone] = useState("");
  const ask = (picture: boolean) =>
    run.ask({ type: "report", picture }, async (answer) => {
      if (typeof answer !== "string" && answer.type === "report") await copy(answer.text);
      setDone(typeof answer === "string" ? answer : " · copied");
    });
  return (
    <p class="cost muted" data-testid="report">
      {["copy report", "with the picture"].map((words, i) => (
        <button
          key={words}
          type="button"
          class="link"
          disabled={gone}
          title="Facts, findings, values, last lines and versions as Markdown"
          onClick={() => ask(i > 0)}
        >
          {words}
        </button>
      ))}
      {done}
    </p>
  );
}

const VERIFY = "%jaxdebug verify F(X)";

/** What it costs to watch, a quiet line with the first of the sentences that say it; and how to know it better. */
function Cost({ sentences }: { sentences: string }) {
  const [copied, setCopied] = useState(false);
  if (!sentences) return null;
  return (
    <p class="cost muted" data-testid="cost">
      <span title={sentences}>{sentences.split(". ", 1)}.</span>{" "}
      <button
        type="button"
        class="link"
        title="It measures what watching costs, and whether the results stay the same to the bit"
        onClick={() => void copy(VERIFY).then(() => setCopied(true))}
      >
        {copied ? `copied: ${VERIFY}` : "copy the command that measures it"}
      </button>
    </p>
  );
}

const WATCH_ALL = "%%jaxdebug --watch-all";
const CHECK_ALL = "%%jaxdebug --check all";

interface NothingProps {
  ui: UiState;
  goesOn: boolean;
  failed: boolean;
  /** No program has run: what it will show is not known yet. */
  prepares: boolean;
  watched: number;
  /** What JAX has compiled that is of no call. */
  apart: StatusMessage["apart"] | undefined;
  /** The checks that ran and found nothing. */
  checked: string;
}

/** What to do where nothing can be drawn. */
function Nothing({ ui, goesOn, failed, prepares, watched, apart, checked }: NothingProps) {
  if (failed && watched === 0) {
    return (
      <div class="empty" data-testid="nothing-drawn">
        <strong>No number to draw</strong>
        <span>The program failed before it gave one.</span>
      </div>
    );
  }
  if (goesOn && prepares) {
    return (
      <div class="empty" data-testid="nothing-drawn">
        <strong>No number yet</strong>
        <span>JAX is tracing and compiling. The first numbers come when the program runs.</span>
      </div>
    );
  }
  if (goesOn && apart?.[0]) {
    return (
      <div class="empty" data-testid="nothing-drawn">
        <strong>No number yet</strong>
        <span>
          {apartInWords(apart)} Inside a function under <code class="mono">jax.jit</code> they are compiled together.
        </span>
      </div>
    );
  }
  return (
    <div class="empty" data-testid="nothing-drawn">
      <strong>{goesOn ? "No number yet" : "No number to draw"}</strong>
      <span>
        Each number that is printed with <code class="mono">jax.debug.print</code> or handed to a callback is drawn
        here.
      </span>
      {watched > 0 ? (
        <span>
          The watched values are in{" "}
          <TabLink ui={ui} to="source" title="Show the code with its values">
            Code
          </TabLink>
          .
        </span>
      ) : (
        <span>
          To see every value, every gradient and the first NaN without a print, begin the cell with{" "}
          <CellLine text={WATCH_ALL} />.
          {!checked && (
            <>
              {" "}
              To find a NaN, an index out of bounds or a key that is used twice, begin it with{" "}
              <CellLine text={CHECK_ALL} />.
            </>
          )}
        </span>
      )}
    </div>
  );
}

/** The first line of a cell, and a button that copies it. */
function CellLine({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <>
      <code class="mono">{text}</code>{" "}
      <button
        type="button"
        class="button"
        title={`Copy ${text}`}
        onClick={() => void copy(text).then(() => setCopied(true))}
      >
        {copied ? "Copied" : "Copy"}
      </button>
    </>
  );
}
