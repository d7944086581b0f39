/** The list of the current notebook's runs, and the panel of the selected run. */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { RunsView } from "../../src/views/runs/RunsView";
import type { Followed } from "./follow";
import type { KernelLink } from "./link";
import { RunOutput } from "./RunOutput";
import { Themed } from "./Themed";
import type { RunRow } from "./wire";

interface Props {
  followed: ReadonlySignal<Followed | undefined>;
  /** Opens a run's panel beside the notebook; undefined if the shell has no place for it. */
  openBeside: ((run: RunRow) => void) | undefined;
}

export function SidePanel({ followed, openBeside }: Props) {
  const { name = "", link } = followed.value ?? {};
  const chosen = useSignal<string | undefined>(undefined);
  const ticked = useSignal<readonly string[]>([]);
  const runs = link?.runs.newestFirst.value ?? [];
  const compared = ticked.value.filter((key) => runs.some((run) => run.key === key));
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
      {link && runs.length > 0 && (
        <Themed class="jaxdebug-Runs">
          {(dark) => (
            <RunsView
              rows={runs}
              ports={link}
              dark={dark}
              ticked={compared}
              onTicked={(keys) => {
                ticked.value = keys;
              }}
              open={shown?.key}
              onOpen={(run) => {
                chosen.value = run.key === shown?.key ? undefined : run.key;
              }}
              onOpenBeside={openBeside}
            />
          )}
        </Themed>
      )}
      {shown && link && <RunOutput key={shown.key} runKey={shown.key} link={link} />}
    </>
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
