/** Beside a line without values: why its names have none, and buttons that watch the names that can be watched. */
import type { RunStore } from "../../store/run";
import type { SourceName } from "../../transport/wire";

interface Props {
  run: RunStore;
  names: readonly SourceName[];
}

export function Unseen({ run, names }: Props) {
  const why = reasonsOf(names).join(" · ");
  return (
    <span class="why muted" title={why}>
      {names.map((one) => one.pattern && <Add key={one.name} run={run} name={one} />)}
      {why}
    </span>
  );
}

/** Returns each reason once, after the names with that reason. */
function reasonsOf(names: readonly SourceName[]): string[] {
  const reasons = new Map<string, string[]>();
  for (const { name, why, pattern } of names) if (!pattern) reasons.set(why, [...(reasons.get(why) ?? []), name]);
  return [...reasons].map(([why, own]) => `${own.join(", ")}: ${why}`);
}

function Add({ run, name: { name, pattern } }: { run: RunStore; name: SourceName }) {
  const isAdded = run.status?.added.includes(pattern) ?? false;
  return (
    <button
      type="button"
      class="mini add-watch"
      data-testid="add-watch"
      aria-pressed={isAdded}
      disabled={run.gone}
      tabIndex={-1}
      title={
        isAdded
          ? "Do not watch it in the next run (w)"
          : "Watch it from the next run on (w): watching is compiled into the program"
      }
      onClick={(event) => {
        event.stopPropagation();
        run.askWatch([pattern], !isAdded);
      }}
    >
      {isAdded ? `${name}: watched from the next run on` : `+ watch ${name}`}
    </button>
  );
}

/** Watches all names that can be watched. If all of them are watched already, stops watching them. */
export function addAll(run: RunStore, names: readonly SourceName[]): void {
  const patterns = [...new Set(names.map(({ pattern }) => pattern).filter(Boolean))];
  const areAdded = patterns.every((pattern) => run.status?.added.includes(pattern));
  if (patterns.length > 0 && !run.gone) run.askWatch(patterns, !areAdded);
}
