/** The list of the current notebook's runs, and the panel of the one that is chosen. */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { plural, seconds } from "../../src/kit/format";
import { stateWords } from "../../src/kit/states";
import type { Followed } from "./follow";
import type { KernelLink } from "./link";
import { RunOutput } from "./RunOutput";
import type { RunRow } from "./wire";
import { barrierWords, tone } from "./words";

interface Props {
  followed: ReadonlySignal<Followed | undefined>;
  /** Opens a run's panel beside the notebook; undefined where there is no room for one. */
  openBeside: ((run: RunRow) => void) | undefined;
}

export function SidePanel({ followed, openBeside }: Props) {
  const { name = "", link } = followed.value ?? {};
  const chosen = useSignal<string | undefined>(undefined);
  const runs = link?.runs.newestFirst.value ?? [];
  const shown = runs.find((run) => run.key === chosen.value);
  return (
    <>
      <header class="jaxdebug-Header">
        <h2>JAX debug</h2>
        <span title={name}>{name}</span>
      </header>
      {link?.lost.value && (
        <p class="jaxdebug-Lost" role="status">
          The kernel is gone. What had arrived is still here.
        </p>
      )}
      {link?.problem.value && (
        <p class="jaxdebug-Lost" role="alert">
          {link.problem.value}
        </p>
      )}
      {runs.length === 0 && <Nothing link={link} name={name} />}
      <ul class="jaxdebug-Runs" aria-label={`Runs of ${name}`}>
        {runs.map((run) => (
          <Run
            key={run.key}
            run={run}
            chosen={run === shown}
            onChoose={() => {
              chosen.value = run === shown ? undefined : run.key;
            }}
            onOpenBeside={openBeside && (() => openBeside(run))}
          />
        ))}
      </ul>
      {shown && link && <RunOutput key={shown.key} runKey={shown.key} link={link} />}
    </>
  );
}

interface RunProps {
  run: RunRow;
  chosen: boolean;
  onChoose(): void;
  onOpenBeside: (() => void) | undefined;
}

function Run({ run, chosen, onChoose, onOpenBeside }: RunProps) {
  return (
    <li
      class="jaxdebug-Run"
      data-run={run.key}
      data-state={run.state}
      data-events={run.events}
      data-barrier={run.barrier}
    >
      <button type="button" class="jaxdebug-Run-main" aria-expanded={chosen} title={run.title} onClick={onChoose}>
        <span class="jaxdebug-Run-title">{run.title}</span>
        <span class="jaxdebug-Run-state">
          <span class="jaxdebug-Dot" data-tone={tone(run)} aria-hidden="true" />
          {stateWords(run.state)} · {seconds(run.elapsed)}
        </span>
        <span class="jaxdebug-Run-detail">
          {plural(run.events, "event")} · {barrierWords(run)}
        </span>
      </button>
      {onOpenBeside && (
        <button
          type="button"
          class="jaxdebug-Run-beside"
          aria-label={`Open ${run.title} beside the notebook`}
          title="Open beside the notebook"
          onClick={onOpenBeside}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M2 3h12v10H2zM9 3v10" fill="none" stroke="currentColor" stroke-width="1.3" />
          </svg>
        </button>
      )}
    </li>
  );
}

function Nothing({ link, name }: { link: KernelLink | undefined; name: string }) {
  if (!name) return <p class="jaxdebug-Empty">Open a notebook: its runs are listed here.</p>;
  if (!link) return <p class="jaxdebug-Empty">This notebook has no kernel.</p>;
  return (
    <div class="jaxdebug-Empty">
      <p>Nothing has been captured in this notebook.</p>
      <p>
        Run <code>%load_ext jax_debug_widgets</code> once, then put <code>%%jaxdebug</code> on the first line of a cell.
      </p>
    </div>
  );
}
