/** The sites of the prints. Selecting a site shows only its prints. */
import { count, shortFunction } from "../../kit/format";
import { siteColour } from "../../kit/theme";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { SiteMessage, StatusMessage } from "../../transport/wire";
import { arraysOf, typeName } from "../arrays/values";
import { Chips } from "./Chips";
import { siteName } from "./name";
import { Sparkline } from "./Sparkline";

interface Props {
  run: RunStore;
  ui: UiState;
  status: StatusMessage;
  dark: boolean;
}

export function Sites({ run, ui, status, dark }: Props) {
  run.watch();
  return (
    <aside class="sites" aria-label="Places">
      <h4>Places</h4>
      <Chips run={run} ui={ui} />
      <div class="site-list">
        <div class="site-row site-head" aria-hidden="true">
          <span class="grow" />
          <span title="How often it printed. Under vmap all lanes count as one print, although each lane has its own line">
            times
          </span>
          <span class="every" title="Record every n-th print only">
            1 in
          </span>
          <span class="eye" title="Whether its prints are recorded">
            on
          </span>
        </div>
        {run.streamSites.map((site) => (
          <Site
            key={site.id}
            run={run}
            ui={ui}
            site={site}
            dropped={status.dropped_by_site[site.id] ?? 0}
            muted={status.muted.includes(site.id)}
            every={status.every[site.id] ?? 1}
            dark={dark}
          />
        ))}
      </div>
    </aside>
  );
}

interface SiteProps {
  run: RunStore;
  ui: UiState;
  site: SiteMessage;
  dropped: number;
  muted: boolean;
  every: number;
  dark: boolean;
}

function Site({ run, ui, site, dropped, muted, every, dark }: SiteProps) {
  run.watch();
  const colour = siteColour(run.rank.get(site.id) ?? 0);
  const line = run.series.ofSite(site.id)?.first;
  const chosen = ui.site.value === site.id;
  const choose = () => {
    ui.site.value = chosen ? null : site.id;
  };
  const name = siteName(run, site);
  const lost = dropped > 0 && `${count(dropped)} dropped`;
  const marks = [muted && "muted", ...traits(run, site)].filter(Boolean);
  // The site belongs to the program, which may run again.
  const later = run.over && " in later runs of its program";
  return (
    <div class={`site-row${muted ? " off" : ""}`}>
      <button
        type="button"
        class="site"
        data-testid="site"
        data-site={site.id}
        aria-pressed={chosen}
        title={[
          name,
          `${site.where} in ${shortFunction(site.function)}`,
          [lost, ...marks].filter(Boolean).join(" · "),
          site.source.trim(),
        ].join("\n")}
        onClick={choose}
      >
        <span class="bar" style={{ background: `var(${colour})` }} />
        <span class="site-name mono">{name}</span>
        <span class="number">{count(run.fired.get(site.id) ?? 0)}</span>
        <small class="muted">
          {site.where}
          {lost && <span class="bad-text"> · {lost}</span>}
          {marks.map((mark) => ` · ${mark}`)}
        </small>
        {line ? <Sparkline line={line} colour={colour} dark={dark} /> : <span />}
      </button>
      <input
        type="number"
        class="every number"
        data-every={site.id}
        min={1}
        value={every}
        aria-label={`Record every n-th print of ${name}: n`}
        title={run.gone ? run.over : `Record every n-th print only${later}`}
        disabled={run.gone}
        onChange={(event) => {
          const n = Math.max(1, Math.floor(event.currentTarget.valueAsNumber || 1));
          event.currentTarget.value = String(n);
          run.askEvery(site.id, n);
        }}
      />
      <button
        type="button"
        class="eye"
        data-mute={site.id}
        aria-pressed={muted}
        aria-label={`Mute ${name}`}
        title={
          run.gone
            ? run.over
            : muted
              ? `Muted: its prints are not recorded. Record them again${later}`
              : `Recorded. Mute it${later || " from now on"}`
        }
        disabled={run.gone}
        onClick={() => run.askMute(site.id, !muted)}
      >
        {muted ? "◌" : "●"}
      </button>
    </div>
  );
}

/** Names what is special about a site. A print in the forward pass is the usual case. */
function traits(run: RunStore, site: SiteMessage): string[] {
  const { kind, phase, ordered } = site;
  const arrays = arraysOf(run, site).map(({ dtype, shape }) => typeName(dtype, shape));
  const unusual = [kind === "print" ? "" : kind, phase === "forward" ? "" : phase].filter(Boolean);
  return [...arrays, ...unusual, ordered ? "ordered" : "unordered"];
}
