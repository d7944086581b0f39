/** The overview: how far the run is, how fast, how good, and what is wrong, with charts that are drawn by default. */
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

/** Milliseconds between two updates while the run goes on. */
const DRAWN_MS = 250;
/** The number of charts that are drawn by default. */
const SCALARS = 3;
/** The rank of expressions, see `rankOf`. */
const EXPRESSION = 4;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: boolean;
}

export function Overview({ run, ui, dark }: Props) {
  const watch = useCallback(() => run.watch(), [run]);
  const at = useSlowly(watch, DRAWN_MS);
  // Preact skips an element that is the same as before, or has the same properties. So `at` is one of the properties.
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
          watches={run.status?.watches ?? false}
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
        <LatestFindings run={run} ui={ui} findings={findings ?? []} worst={worst} />
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
  const left = more > 0 && `the ${count(lines.length)} largest, ${count(more)} more in Code`;
  return <Lines {...props} note={[note, left].filter(Boolean).join(", ")} lines={all} />;
}

/** Buttons that copy the run as Markdown. */
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

/** The expected cost of watching: its first sentence, and a command that measures it. */
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
  /** Whether no program has run yet, so that it is not known what there will be. */
  prepares: boolean;
  watched: number;
  /** The programs that JAX has compiled outside calls. */
  apart: StatusMessage["apart"] | undefined;
  /** The checks that ran and found nothing, in words. */
  checked: string;
  /** Whether the cell asks to watch values. */
  watches: boolean;
}

/** Shown if there is no chart: what to do. */
function Nothing({ ui, goesOn, failed, prepares, watched, apart, checked, watches }: NothingProps) {
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
  if (goesOn && watches && watched === 0) {
    return (
      <div class="empty" data-testid="nothing-drawn">
        <strong>No number yet</strong>
        <span>The first values come when a compiled function runs.</span>
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
      ) : watches ? null : (
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

/** The first line of a cell, with a button that copies it. */
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
