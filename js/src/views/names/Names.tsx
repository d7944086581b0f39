/**
 * The tree of names with their numbers at the shown step. Ticked names are plotted together; a click inspects a name.
 */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, plural } from "../../kit/format";
import { Moved } from "../../kit/moved";
import { useScrolled } from "../../kit/scrolled";
import { useSize } from "../../kit/size";
import { scrollTo, sliceAt } from "../../kit/virtual";
import { inspect } from "../../store/cursor";
import type { RunStore } from "../../store/run";
import { toggled, type UiState } from "../../store/ui";
import { isWatched } from "../../store/watched";
import type { LookAtStop } from "../source/reading";
import { inspectedKey, type Leaf, printedLeaves } from "./leaf";
import { shownOf } from "./shown";
import { leavesOf, type NameRow, rowsOf, treeOf } from "./tree";

const ROW_HEIGHT = 22;
/** The indentation of a level, in pixels. */
const INDENT = 12;

interface Props {
  run: RunStore;
  ui: UiState;
  look: LookAtStop;
}

/** `children` are shown below the names. */
export function Names({ run, ui, look, children }: Props & { children: ComponentChildren }) {
  run.watch();
  const [wanted, setWanted] = useState("");
  const viewport = useRef<HTMLDivElement>(null);
  const { height } = useSize(viewport);
  const { top, setTop, stay } = useScrolled(viewport, height);
  const [at, setAt] = useState<string | null>(null);
  // Sites are only added, never removed, so their number tells whether they have changed.
  const tree = useMemo(
    () =>
      treeOf(
        [...run.sites.values()].filter(isWatched).filter(({ id }) => !run.isCopy(id)),
        printedLeaves(run),
      ),
    [run, run.sites.size, run.series.size, run.apart],
  );
  const names = useMemo(() => tree.reduce((sum, branch) => sum + leavesOf(branch).length, 0), [tree]);
  const folded = ui.folded.value;
  const rows = useMemo(() => rowsOf(tree, folded, wanted), [tree, folded, wanted]);
  const slice = sliceAt(rows.length, ROW_HEIGHT, height, top);
  const current = rows.findIndex(({ key }) => key === (at ?? inspectedKey(run, ui)));

  const isDrawn = current >= slice.first && current < slice.end;

  const turn = (row: NameRow) => {
    ui.folded.value = toggled(folded, row.key);
  };
  const choose = ({ site, value }: Leaf) => {
    inspect(ui, site, value);
    if (!ui.names.value) return;
    // In a narrow panel, the names cover the code and the inspector. They are closed, and the code gets the focus.
    ui.names.value = false;
    viewport.current?.closest(".workspace")?.querySelector<HTMLElement>(".code-list .viewport")?.focus();
  };
  const tick = ({ key }: Leaf) => {
    ui.ticked.value = toggled(ui.ticked.value, key);
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
  // If something is inspected from another view, scrolls to its name.
  useLayoutEffect(() => {
    setAt(null);
    reveal(rows.findIndex(({ key }) => key === inspectedKey(run, ui)));
  }, [inspectedKey(run, ui), height > 0]);
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
      Enter: () => row && (row.leaf ? choose(row.leaf) : turn(row)),
      " ": () => row && (row.leaf ? tick(row.leaf) : turn(row)),
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
          title="Show names that have all these words: attn kernel gradient"
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
                row.leaf ? (
                  <Name
                    key={row.key}
                    {...{ run, ui, look, row, leaf: row.leaf }}
                    isAt={slice.first + i === current}
                    choose={() => {
                      setAt(null);
                      choose(row.leaf as Leaf);
                    }}
                    tick={() => tick(row.leaf as Leaf)}
                  />
                ) : (
                  <Group key={row.key} run={run} look={look} row={row} isAt={slice.first + i === current} turn={turn} />
                ),
              )}
            </div>
          </div>
          {rows.length === 0 && <p class="muted">No name matches.</p>}
        </div>
      )}
      {children}
    </aside>
  );
}

function idOf({ key }: NameRow): string {
  return `name-${key.replace(/\W/g, "-")}`;
}

function styled({ depth, leaf }: NameRow) {
  return { paddingLeft: `${8 + INDENT * (leaf ? depth - 1 : depth)}px` };
}

interface NameProps extends Props {
  row: NameRow;
  leaf: Leaf;
  isAt: boolean;
  choose: () => void;
  tick: () => void;
}

function Name({ run, ui, look, row, leaf, isAt, choose, tick }: NameProps) {
  const { text, isBad, earlier } = shownOf(run, ui, look, leaf);
  const { key, name, site } = leaf;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and tells which is at it
    <div
      id={idOf(row)}
      class={`name-row${isAt ? " at" : ""}${earlier ? " earlier" : ""}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={inspectedKey(run, ui) === key}
      aria-checked={ui.ticked.value.has(key)}
      data-testid="name"
      data-of={name}
      title={`${name} · ${site.where}${earlier ? ` · of ${earlier}` : ""}`}
      style={styled(row)}
      onClick={choose}
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
        <bdi>{row.label}</bdi>
        {row.place && <small class="muted"> {row.place}</small>}
      </span>
      <span class={`number ${isBad ? "bad-text" : "muted"}`}>{text}</span>
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
  const bad = leaves.filter(({ site }) => {
    const table = run.watched.tables.get(site.id);
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
