/** The findings of the run, each with its source lines, its reason, and what to write instead. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { copy } from "../../kit/give";
import { Words } from "../../kit/Words";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { isWatched } from "../../store/watched";
import type { FindingMessage, FollowerMessage } from "../../transport/wire";
import { goToPlace, hasFile } from "../overview/go";
import { watchedName } from "../sites/name";
import { useFindings } from "./useFindings";

/** The most followers to list by name. */
const MOST_FOLLOWERS = 8;

interface Props {
  run: RunStore;
  ui: UiState;
}

export function Findings({ run, ui }: Props) {
  run.watch();
  const { findings, problem } = useFindings(run);
  const list = useRef<HTMLOListElement>(null);
  const sought = ui.finding.value;
  useLayoutEffect(() => {
    const found = sought && list.current?.querySelector(`[data-kind="${sought}"]`);
    if (!found) return;
    found.scrollIntoView({ block: "nearest" });
    ui.finding.value = "";
  }, [sought, findings]);
  if (problem) {
    return (
      <div class="empty" role="alert">
        <strong>The findings could not be read</strong>
        <span>{problem}</span>
      </div>
    );
  }
  if (!findings) {
    return (
      <div class="empty" role="status">
        <strong>Loading the findings …</strong>
      </div>
    );
  }
  if (findings.length === 0) {
    return (
      <div class="empty">
        <strong>No findings</strong>
        {run.status?.checked && <span>{run.status.checked} ran.</span>}
        {run.status?.checked !== "All checks" && (
          <span>Run the cell with %%jaxdebug --check all to look for more.</span>
        )}
      </div>
    );
  }
  return (
    <ol class="findings" data-testid="findings" ref={list}>
      {findings.map((finding, i) => (
        <Entry key={i} run={run} ui={ui} finding={finding} />
      ))}
    </ol>
  );
}

interface EntryProps extends Props {
  finding: FindingMessage;
}

function Entry({ run, ui, finding }: EntryProps) {
  const { where, headline, why, advice, lines, first_line: first, followers, following } = finding;
  const place = placeOf(run, finding);
  return (
    <li class="finding" data-testid="finding" data-kind={finding.kind}>
      <header>
        <strong>
          <Words text={capitalised(headline)} />
        </strong>
        <span class="kind">{finding.kind}</span>
        <span class="grow" />
        {finding.section && (
          <a
            class="link"
            href={finding.section}
            target="_blank"
            rel="noreferrer"
            title="Open JAX's documentation of this"
          >
            explain
          </a>
        )}
        {place ? (
          <button type="button" class="link mono" title={`Show ${where} in the code`} onClick={() => place(ui)}>
            {where}
          </button>
        ) : (
          <span class="mono muted">{where}</span>
        )}
      </header>
      {lines.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
        <pre class="excerpt mono" tabIndex={0}>
          {lines.map((text, i) => (
            <span key={i} class={first + i === finding.line ? "guilty" : ""}>
              <span class="line-number">{first + i}</span> {text}
              {"\n"}
            </span>
          ))}
        </pre>
      )}
      {why && (
        <p>
          <Words text={why} />
        </p>
      )}
      {finding.fix.length > 0 && <Fix lines={finding.fix} />}
      {advice && (
        <p class="muted">
          <Words text={advice} />
        </p>
      )}
      {following > 0 && <Followers run={run} ui={ui} followers={followers} following={following} />}
    </li>
  );
}

/** The lines to write instead. */
function Fix({ lines }: { lines: string[] }) {
  const [copied, setCopied] = useState(false);
  const text = lines.join("\n");
  return (
    <div class="fix">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
      <pre class="mono" tabIndex={0}>
        {text}
      </pre>
      <button
        type="button"
        class="button"
        title="Copy the lines to write instead"
        onClick={() => void copy(text).then(() => setCopied(true))}
      >
        {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}

/** The values that had a NaN later, with links to their lines. */
function Followers({ run, ui, followers, following }: Props & { followers: FollowerMessage[]; following: number }) {
  const shown = followers.slice(0, MOST_FOLLOWERS);
  return (
    <p class="followers muted">
      {following} {following === 1 ? "other" : "others"} later:{" "}
      {shown.map((one, i) => {
        const site = run.sites.get(one.site);
        return (
          <span key={i}>
            {i > 0 && ", "}
            {site && isWatched(site) ? (
              <button
                type="button"
                class="link mono"
                title={one.where}
                onClick={() => goToPlace(ui, { file: site.file, line: site.line, site: one.site, event: one.event })}
              >
                {watchedName(site)}
              </button>
            ) : (
              <span class="mono">{one.label}</span>
            )}
          </span>
        );
      })}
      {following > shown.length && ", …"}
    </p>
  );
}

/** Returns a function that goes to the line of a finding; undefined if the Code view does not have its file. */
function placeOf(run: RunStore, finding: FindingMessage): ((ui: UiState) => void) | undefined {
  if (!hasFile(run, finding.file)) return undefined;
  return (ui) => goToPlace(ui, finding);
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
