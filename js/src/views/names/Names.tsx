/** The watched names as a tree: a tick plots them together, a click inspects one, beside each the statistic at the step. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { brief, count, plural } from "../../kit/format";
import { Moved } from "../../kit/moved";
import { useScrolled } from "../../kit/scrolled";
import { useSize } from "../../kit/size";
import { scrollTo, sliceAt } from "../../kit/virtual";
import type { RunStore } from "../../store/run";
import { toggled, type UiState } from "../../store/ui";
import { isWatched, type WatchSite } from "../../store/watched";
import { watchedName } from "../sites/name";
import { badOf, type LookAtStop, seenOf } from "../source/reading";
import { statisticOf } from "./statistic";
import { leavesOf, type NameRow, rowsOf, treeOf } from "./tree";

const ROW_HEIGHT = 22;
/** Pixels for each depth. */
const INDENT = 12;

interface Props {
  run: RunStore;
  ui: UiState;
  look: LookAtStop;
}

/** `children` stand below them. */
export function Names({ run, ui, look, children }: Props & { children: ComponentChildren }) {
  run.watch();
  const [wanted, setWanted] = useState("");
  const viewport = useRef<HTMLDivElement>(null);
  const { height } = useSize(viewport);
  const { top, setTop, stay } = useScrolled(viewport, height);
  const [at, setAt] = useState<string | null>(null);
  const names = run.watched.tables.size;
  // Sites are only ever added.
  const tree = useMemo(() => treeOf([...run.sites.values()].filter(isWatched)), [run, names]);
  const folded = ui.folded.value;
  const rows = useMemo(() => rowsOf(tree, folded, wanted), [tree, folded, wanted]);
  const slice = sliceAt(rows.length, ROW_HEIGHT, height, top);
  const current = rows.findIndex(({ key }) => key === (at ?? String(ui.value.value ?? "")));

  const isDrawn = current >= slice.first && current < slice.end;

  const turn = (row: NameRow) => {
    ui.folded.value = toggled(folded, row.key);
  };
  const inspect = ({ id, file, line }: WatchSite) => {
    ui.value.value = id;
    ui.place.value = { file, line, index: 0 };
  };
  const tick = ({ id }: WatchSite) => {
    ui.ticked.value = toggled(ui.ticked.value, id);
  };
  const go = (index: number) => {
    const to = Math.min(rows.length - 1, Math.max(0, index));
    setAt(rows[to]?.key ?? null);
    reveal(to);
  };
  const reveal = (to: number) => {
    const [element, room] = [viewport.current, Math.floor(height / ROW_HEIGHT)];
    const first = Math.ceil(top / ROW_HEIGHT);
    if (!element || height === 0 || to < 0 || (to >= first && to < first + room)) return;
    element.scrollTop = scrollTo(to, rows.length, ROW_HEIGHT, height);
    setTop(element.scrollTop);
  };
  // What is inspected from elsewhere is seen here, too.
  useLayoutEffect(() => {
    setAt(null);
    reveal(rows.findIndex(({ key }) => key === String(ui.value.value)));
  }, [ui.value.value, height > 0]);
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[current];
    const parent = () => {
      let i = current - 1;
      while (i > 0 && (rows[i] as NameRow).depth >= (row?.depth ?? 0)) i--;
      return i;
    };
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(current + 1),
      ArrowUp: () => go(current - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => row?.branch && (row.isOpen ? go(current + 1) : turn(row)),
      ArrowLeft: () => row && (row.branch && row.isOpen ? turn(row) : go(Math.max(0, parent()))),
      Enter: () => row && (row.site ? inspect(row.site) : turn(row)),
      " ": () => row && (row.site ? tick(row.site) : turn(row)),
    };
    const does = keys[event.key];
    if (!does || event.target !== event.currentTarget) return;
    does();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <aside class="names" aria-label="Names" data-testid="names" data-rows={rows.length}>
      {names > 0 && (
        <input
          type="search"
          aria-label="Find a name"
          title="Show the names that have this in them"
          placeholder={`find in ${plural(names, "name")}`}
          spellcheck={false}
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
      )}
      {names > 0 && (
        <div
          class="viewport"
          ref={viewport}
          role="tree"
          aria-label="Names: Enter inspects, Space plots together"
          aria-activedescendant={isDrawn ? idOf(rows[current] as NameRow) : undefined}
          tabIndex={0}
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
          onKeyDown={onKeyDown}
        >
          <Moved moved={stay} />
          <div class="all-rows" role="presentation" style={{ height: `${slice.height}px` }}>
            <div class="drawn-rows" role="presentation" style={{ transform: `translateY(${slice.offset}px)` }}>
              {rows.slice(slice.first, slice.end).map((row, i) =>
                row.site ? (
                  <Name
                    key={row.key}
                    {...{ run, ui, look, row, site: row.site }}
                    isAt={slice.first + i === current}
                    inspect={() => {
                      setAt(null);
                      inspect(row.site as WatchSite);
                    }}
                    tick={() => tick(row.site as WatchSite)}
                  />
                ) : (
                  <Group key={row.key} run={run} look={look} row={row} isAt={slice.first + i === current} turn={turn} />
                ),
              )}
            </div>
          </div>
          {rows.length === 0 && <p class="muted">No name is like that.</p>}
        </div>
      )}
      {children}
    </aside>
  );
}

function idOf({ key }: NameRow): string {
  return `name-${key.replace(/\W/g, "-")}`;
}

function styled({ depth, site }: NameRow) {
  return { paddingLeft: `${8 + INDENT * (site ? depth - 1 : depth)}px` };
}

interface NameProps extends Props {
  row: NameRow;
  site: WatchSite;
  isAt: boolean;
  inspect: () => void;
  tick: () => void;
}

function Name({ run, ui, look, row, site, isAt, inspect, tick }: NameProps) {
  const found = seenOf(run, site, look);
  const bad = found && badOf(found);
  const isTicked = ui.ticked.value.has(site.id);
  const told = found && statisticOf(found, ui.statistic.value);
  const number = typeof told === "number" ? brief(told) : "–";
  const name = watchedName(site);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and tells which is at it
    <div
      id={idOf(row)}
      class={`name-row${isAt ? " at" : ""}${found?.earlier ? " earlier" : ""}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={ui.value.value === site.id}
      aria-checked={isTicked}
      data-testid="name"
      data-of={name}
      title={`${name} · ${site.where}${found?.earlier ? ` · of ${found.earlier}` : ""}`}
      style={styled(row)}
      onClick={inspect}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Space does it */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Space does it */}
      <span
        class="name-tick"
        title="Plot together (Space)"
        onClick={(event) => {
          event.stopPropagation();
          tick();
        }}
      />
      <span class="name-label mono">
        {row.label}
        {row.place && <small class="muted"> {row.place}</small>}
      </span>
      <span class={`number ${bad && !found.earlier ? "bad-text" : "muted"}`}>{bad || number}</span>
    </div>
  );
}

interface GroupProps {
  run: RunStore;
  look: LookAtStop;
  row: NameRow;
  isAt: boolean;
  turn: (row: NameRow) => void;
}

function Group({ run, look, row, isAt, turn }: GroupProps) {
  const leaves = useMemo(() => (row.branch ? leavesOf(row.branch) : []), [row.branch]);
  const bad = leaves.filter(({ id }) => {
    const table = run.watched.tables.get(id);
    const at = table?.rowAt(look) ?? -1;
    return table && at >= 0 && table.isBad(at);
  }).length;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and tells which is at it
    <div
      id={idOf(row)}
      class={`name-row group${isAt ? " at" : ""}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={false}
      aria-expanded={row.isOpen}
      data-testid="name-group"
      style={styled(row)}
      onClick={() => turn(row)}
    >
      <span class="fold" />
      <span class="name-label">{row.label}</span>
      <span class={`number ${bad ? "bad-text" : "muted"}`}>
        {bad ? `${count(bad)} not finite` : row.isOpen ? "" : count(leaves.length)}
      </span>
    </div>
  );
}
