/** The last printed lines and the findings. Each leads to its place. */
import { Words } from "../../kit/Words";
import type { RunStore } from "../../store/run";
import { firingOf, stepsOf } from "../../store/steps";
import type { UiState } from "../../store/ui";
import type { FindingMessage } from "../../transport/wire";
import { TabLink } from "../panel/TabLink";
import { MOST_CHARACTERS } from "../streams/Row";
import { Styled } from "../streams/Styled";
import { goToFinding, goToLine, worstOf } from "./go";

const LINES = 5;
/** The number of lines in which to look for the last prints; breakpoints are skipped. */
const LOOKED_AT = 50;
const FINDINGS = 5;

interface Props {
  run: RunStore;
  ui: UiState;
  /** A number that changes when the lines must be drawn again. */
  at: number;
}

export function LastPrints({ run, ui }: Props) {
  const { positions, received } = run.merged;
  const looked = Math.min(LOOKED_AT, positions.length);
  const last = Array.from({ length: looked }, (_, i) => positions.at(positions.length - looked + i))
    .filter((at) => run.log.gapCount(at) === 0 && run.siteAt(at)?.kind !== "breakpoint")
    .slice(-LINES);
  if (last.length === 0) return null;
  run.texts.request(
    last.map((position) => run.log.number(position)),
    run.next,
  );
  return (
    <section class="latest" data-testid="last-prints" aria-label="Last prints">
      <header>
        <b>Last prints</b>
        <span class="grow" />
        <TabLink ui={ui} to="streams" title="Show all that was printed">
          all {received}
        </TabLink>
      </header>
      {last.map((position) => {
        const [number, site] = [run.log.number(position), run.siteAt(position)];
        const text = run.texts.get(number)?.split("\n")[0] ?? "…";
        const colours = run.texts.withStyles(number);
        return (
          <button
            type="button"
            key={number}
            class="latest-row"
            title={`${text} · ${site?.where}. Show it in Prints`}
            onClick={() => goToLine(ui, number)}
          >
            <span class="latest-step mono number">
              {stepsOf(run.log, position, site).join("·") || firingOf(run.log, position, site)}
            </span>
            <bdi class="latest-text mono">
              {colours ? <Styled run={run} text={colours} most={MOST_CHARACTERS} /> : text}
            </bdi>
            <span class="latest-where mono">{site?.where}</span>
          </button>
        );
      })}
    </section>
  );
}

interface FindingsProps {
  run: RunStore;
  ui: UiState;
  findings: readonly FindingMessage[];
}

/** From this severity on, only time or precision is lost, and no result is wrong. */
const SLOW = 2;

/** The worst finding, above the charts. */
export function Worst({ run, ui, findings, worst }: FindingsProps & { worst: FindingMessage }) {
  return (
    <section class="worst" data-testid="worst" aria-label="The worst finding">
      <Row run={run} ui={ui} finding={worst} />
      {findings.length > 1 && <AllFindings ui={ui} findings={findings} />}
    </section>
  );
}

/** Returns the worst finding; undefined if only time or precision is lost. */
export function wrongOf(findings: readonly FindingMessage[]): FindingMessage | undefined {
  const worst = worstOf(findings);
  return worst && worst.severity < SLOW ? worst : undefined;
}

/** The first findings, without the worst, which is above the charts. */
export function LatestFindings({ run, ui, findings, worst }: FindingsProps & { worst: FindingMessage | undefined }) {
  const listed = findings.filter((one) => one !== worst);
  if (listed.length === 0) return null;
  return (
    <section class="latest" data-testid="latest-findings" aria-label="Findings">
      <header>
        <b>{worst ? "Other findings" : "Findings"}</b>
        <span class="grow" />
        <AllFindings ui={ui} findings={findings} />
      </header>
      {listed.slice(0, FINDINGS).map((finding, i) => (
        <Row key={i} run={run} ui={ui} finding={finding} />
      ))}
    </section>
  );
}

function AllFindings({ ui, findings }: Pick<FindingsProps, "ui" | "findings">) {
  return (
    <TabLink ui={ui} to="findings" title="Show all findings">
      all {findings.length}
    </TabLink>
  );
}

function Row({ run, ui, finding }: Omit<FindingsProps, "findings"> & { finding: FindingMessage }) {
  const { headline, where, severity } = finding;
  const slow = severity >= SLOW;
  return (
    <button
      type="button"
      class="latest-row"
      title={`${headline} · ${where}`}
      onClick={() => goToFinding(run, ui, finding)}
    >
      <span class={`severity${slow ? " slow" : ""}`} role="img" aria-label={slow ? "slow" : "wrong"} />
      <span class="latest-text">
        <Words text={headline} />
      </span>
      <span class="latest-where mono">{where}</span>
    </button>
  );
}
