/** The value itself at the shown step, if the array was recorded: two of its axes as a picture, its numbers, a file. */
import { whenOf } from "../../store/clock";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import type { WatchSite } from "../../store/watched";
import { OneArray } from "../arrays/OneArray";
import type { Seen } from "../source/reading";
import { Section } from "./Section";

export interface PartProps {
  run: RunStore;
  ui: UiState;
  site: WatchSite;
  found: Seen | null;
  dark: boolean;
}

export function Whole({ run, ui, site, found, dark }: PartProps) {
  run.watch();
  if (site.watch.shape.length === 0) return null;
  const isTaken = (found?.site ?? site).watch.full;
  return (
    <Section ui={ui} name="Value" about={found && isTaken ? whenOf(found.table, found.row) : ""}>
      {!isTaken ? (
        <p class="muted" data-testid="not-taken">
          Only its statistics were taken. With <code class="mono">--values</code> the array itself is kept at each step.
        </p>
      ) : found ? (
        <RecordedArray run={run} found={found} dark={dark} />
      ) : (
        <p class="muted">It had not been computed at this step.</p>
      )}
    </Section>
  );
}

function RecordedArray({ run, found: { table, row, site }, dark }: { run: RunStore; found: Seen; dark: boolean }) {
  const { shape, dtype, name } = site.watch;
  const value = site.values.length - 1;
  return <OneArray run={run} event={table.event(row)} {...{ value, shape, dtype, name, dark }} />;
}
