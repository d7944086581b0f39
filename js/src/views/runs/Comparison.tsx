/** The comparison of several runs: their curves in shared charts, their configurations, and the values that differ. */
import { useState } from "preact/hooks";
import { plural, value } from "../../kit/format";
import { siteColour } from "../../kit/theme";
import type { Compared, Difference, RunRow, Sent } from "../../store/rows";
import type { Range } from "../plots/drawn";
import { OverlayChart } from "./OverlayChart";
import { numbersOfSame, runLabel } from "./order";

const MOST_VALUES = 40;

interface Props {
  compared: Compared;
  rows: readonly RunRow[];
  dark: boolean;
}

export function Charts({ compared, rows, dark }: Props) {
  const [byTime, setByTime] = useState(false);
  // All charts share one zoom.
  const [zoom, setZoom] = useState<Range | null>(null);
  const twins = numbersOfSame(rows);
  // A run has the same name as in the table below: the settings that differ, or its own name.
  const labels = compared.groups.map(({ label, runs: [only = -1, ...others] }) =>
    compared.config.length > 0 || others.length > 0 ? label : shortOf(compared.runs[only] ?? label, rows, twins),
  );
  return (
    <section class="compared-charts" aria-label="Curves of the runs that are ticked">
      <div class="runs-legend" data-testid="runs-legend">
        {compared.by && <span class="muted">{compared.by}</span>}
        {compared.groups.map(({ label, runs }, group) => (
          <span key={group} class="legend-entry" title={namesOf(runs, compared, rows).join(", ")}>
            <i style={{ background: `var(${siteColour(group)})` }} />
            <b class="mono">{labels[group]}</b>
            {runs.length > 1 ? (
              <span class="muted">mean of {runs.length} seeds</span>
            ) : (
              <span class="muted">{labels[group] === label ? cellOf(runs[0] ?? -1, compared, rows) : label}</span>
            )}
          </span>
        ))}
        <span class="grow" />
        <select
          class="runs-axis"
          aria-label="Axis"
          title="What the curves are drawn against"
          value={byTime ? "seconds" : "step"}
          onChange={(event) => {
            setByTime(event.currentTarget.value === "seconds");
            setZoom(null);
          }}
        >
          <option value="step">by step</option>
          <option value="seconds">by seconds</option>
        </select>
      </div>
      {compared.missing.length > 0 && (
        <p class="compared-note">{plural(compared.missing.length, "run")} of these are no longer in memory.</p>
      )}
      {compared.charts.length === 0 && (
        <p class="compared-note">
          These runs have no number of the same name. Print one in each, or watch it: --watch loss
        </p>
      )}
      <div class="overlays">
        {compared.charts.map((chart) => (
          <OverlayChart key={chart.name} {...{ chart, labels, byTime, dark, zoom }} onZoom={setZoom} />
        ))}
      </div>
    </section>
  );
}

export function WhatDiffers({ compared, rows }: Omit<Props, "dark">) {
  const [most, setMost] = useState(MOST_VALUES);
  const { runs, groups, config, parted, values } = compared;
  const twins = numbersOfSame(rows);
  const different = values.filter(({ first }) => first !== null);
  const same = values.length - different.length;
  const colours = runs.map((_, place) => groups.findIndex((group) => group.runs.includes(place)));
  if (runs.length < 2) return null;
  return (
    <section class="what-differs" aria-label="What differs" data-testid="what-differs">
      <table class="differs-table">
        <thead>
          <tr>
            <th>What differs</th>
            <th class="number">step</th>
            {runs.map((key, place) => (
              <th key={key} class="number of-run" title={shortOf(key, rows, twins)}>
                <i style={{ background: `var(${siteColour(colours[place] ?? 0)})` }} />
                {shortOf(key, rows, twins)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {config.map(({ name, values: sent }) => (
            <tr key={`config ${name}`} class="config">
              <th>{name}</th>
              <td />
              {sent.map((one, i) => (
                <td key={i} class="number mono of-run" title={one}>
                  {one}
                </td>
              ))}
            </tr>
          ))}
          <tr class="parted" data-testid="parted">
            <th>
              {parted ? (
                <>
                  first difference: <Place of={parted} />
                </>
              ) : (
                `the same in ${plural(compared.compared, "value")}`
              )}
            </th>
            <td class="number">{parted?.first ?? "–"}</td>
            <td colSpan={runs.length} />
          </tr>
          {different.slice(0, most).map((one, i) => (
            <tr key={i}>
              <th title={one.source}>
                <Place of={one} />
                {one.source && <code class="mono muted">{one.source}</code>}
              </th>
              <td class="number" title={`They differ from step ${one.first} on`}>
                {one.at}
              </td>
              {one.values.map((sent, k) => (
                <td key={k} class={`number mono${isNonFinite(sent) ? " bad-text" : ""}`}>
                  {shown(sent)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {different.length > most && (
        <button type="button" class="button" title="Show more values" onClick={() => setMost(most + MOST_VALUES)}>
          {plural(different.length - most, "more value")}
        </button>
      )}
      {(different.length > 0 || compared.unread > 0) && (
        <p class="compared-note">
          {different.length > 0 &&
            "Each value is that of the step where it differs most. The largest difference comes first."}
          {different.length > 0 && same > 0 && ` The same: ${plural(same, "value")}.`}
          {compared.unread > 0 && ` ${plural(compared.unread, "further value")} not compared: it took too long.`}
        </p>
      )}
    </section>
  );
}

function Place({ of: { name, where } }: { of: Difference }) {
  return (
    <>
      <bdi class="mono">{name}</bdi> <span class="muted">{where}</span>
    </>
  );
}

function isNonFinite(sent: Sent | null): boolean {
  return sent !== null && !Number.isFinite(Number(sent));
}

function shown(sent: Sent | null): string {
  if (sent === null) return "–";
  const number = Number(sent);
  return Number.isNaN(number) ? "NaN" : Number.isFinite(number) ? value(number) : number > 0 ? "∞" : "−∞";
}

function cellOf(place: number, { runs }: Compared, rows: readonly RunRow[]): string {
  const row = rows.find(({ key }) => key === runs[place]);
  return row?.cell ? `In [${row.cell}]` : "";
}

/** Returns the name of a run or its cell, with a number if several runs share it. */
function shortOf(key: string, rows: readonly RunRow[], twins: ReadonlyMap<string, number>): string {
  const row = rows.find((row) => row.key === key);
  if (!row) return key;
  const twin = twins.get(key);
  return `${row.name || (row.cell ? `In [${row.cell}]` : runLabel(row))}${twin ? ` #${twin}` : ""}`;
}

function namesOf(places: readonly number[], { runs }: Compared, rows: readonly RunRow[]): string[] {
  return places.flatMap((place) => {
    const row = rows.find(({ key }) => key === runs[place]);
    return row ? [`${row.cell ? `In [${row.cell}] ` : ""}${runLabel(row)}`] : [];
  });
}
