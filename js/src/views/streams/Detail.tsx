/** Below the streams: the selected event in full, else the source line of the selected site. */
import { seconds } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { SiteMessage } from "../../transport/wire";
import { Slice } from "../arrays/Slice";
import { arraysOf } from "../arrays/values";

/** More would not fit. */
const MOST_ARRAYS = 3;

interface Props {
  run: RunStore;
  ui: UiState;
  dark: boolean;
}

export function Detail({ run, ui, dark }: Props) {
  run.watch();
  const number = ui.event.value;
  const position = number === null ? -1 : run.log.find(number);
  if (position >= 0) return <EventDetail run={run} ui={ui} dark={dark} position={position} />;
  const site = ui.site.value === null ? undefined : run.sites.get(ui.site.value);
  if (!site) return null;
  return (
    <footer class="detail" data-testid="detail">
      <div class="detail-head">
        <Place site={site} />
      </div>
      <Source site={site} />
    </footer>
  );
}

function EventDetail({ run, ui, dark, position }: Props & { position: number }) {
  run.watch();
  const { log } = run;
  const number = log.number(position);
  const site = run.sites.get(log.site(position));
  const call = run.calls.get(log.call(position));
  const lane = log.lane(position);
  const close = () => {
    ui.event.value = null;
  };
  return (
    <footer class="detail" data-testid="detail">
      <div class="detail-head">
        {site && <Place site={site} />}
        <span class="muted number">
          event {number} · firing {log.occurrence(position)} · {seconds(log.time(position))}
          {lane >= 0 && ` · lane ${lane}`}
          {call && ` · call ${call.name}`}
        </span>
        <span class="grow" />
        <button type="button" class="close" aria-label="Close the detail" onClick={close}>
          ×
        </button>
      </div>
      <div class="detail-body">
        <pre class="mono">{run.texts.get(number) ?? "…"}</pre>
        {site && <ArraysOf run={run} ui={ui} dark={dark} site={site} event={number} />}
      </div>
      {site && <Source site={site} />}
    </footer>
  );
}

/** The arrays of one event, small; each can be opened in the view of arrays. */
function ArraysOf({ run, ui, dark, site, event }: Props & { site: SiteMessage; event: number }) {
  const open = (key: string) => {
    ui.array.value = key;
    ui.moment.value = event;
    ui.tab.value = "arrays";
  };
  return (
    <>
      {arraysOf(site)
        .slice(0, MOST_ARRAYS)
        .map(({ key, value, name, shape }) => (
          <div key={key} class="detail-array">
            <button type="button" class="mini" title="Open it in the view of arrays" onClick={() => open(key)}>
              {name} ↗
            </button>
            <Slice
              run={run}
              wanted={{ event, value, index: shape.slice(0, -2).map(() => 0), image: false }}
              name={name}
              dark={dark}
            />
          </div>
        ))}
    </>
  );
}

function Place({ site }: { site: SiteMessage }) {
  return (
    <span class="place" title={site.name_stack}>
      <b>{site.where}</b> <span class="muted">in {site.function}</span>
      {site.phase !== "forward" && <span class={`tag phase-${site.phase}`}> {site.phase}</span>}
      {site.transforms.length > 0 && <span class="muted"> · {site.transforms.join(" › ")}</span>}
    </span>
  );
}

function Source({ site }: { site: SiteMessage }) {
  return <code class="source mono">{site.source.trim()}</code>;
}
