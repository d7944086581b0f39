/** The boxes and wires of a program as SVG. The kernel computes the layout. */
import { useEffect, useRef } from "preact/hooks";
import { plural } from "../../kit/format";
import { cut, keyOf, neighbour, type Scene, type SceneBox, type SceneWire, titleOf } from "./scene";

interface Props {
  scene: Scene;
  name: string;
  zoom: number;
  chosen: string;
  choose: (box: SceneBox) => void;
  turn: (box: SceneBox) => void;
}

export function Canvas({ scene, name, zoom, chosen, choose, turn }: Props) {
  const root = useRef<SVGSVGElement>(null);
  const has = useRef(false);
  const focused = scene.boxes.find((one) => keyOf(one) === chosen) ?? scene.boxes[0];
  const reached = focused && keyOf(focused);
  // An opened box is a new element, so the focus is moved to it.
  useEffect(() => {
    const element = root.current?.querySelector<SVGGElement>(`[data-key="${reached}"]`);
    if (has.current) element?.focus({ preventScroll: true });
  }, [scene, reached]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!focused) return;
    const next = neighbour(scene.boxes, focused, event.key);
    const parent = scene.boxes.find(({ box }) => box === focused.parent);
    if (next) choose(next);
    else if (event.key === "Enter" || event.key === " ") turn(focused);
    else if (event.key === "Backspace" && parent) choose(parent);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const hot = ({ start, end }: SceneWire) =>
    [start, end].some((at) => {
      const box = scene.boxes[at];
      return box !== undefined && !box.open && keyOf(box) === chosen;
    });
  const lit = ({ start, end }: SceneWire) => Boolean(scene.boxes[start]?.lit && scene.boxes[end]?.lit);
  const wires = scene.wires.filter((wire) => wire.shown || hot(wire));
  return (
    <svg
      ref={root}
      class="graph"
      role="application"
      aria-label={`The program ${name} as boxes. Arrows go on, Enter opens and closes, Backspace goes to the box around.`}
      width={scene.width * zoom}
      height={scene.height * zoom}
      viewBox={`-1 -1 ${scene.width + 2} ${scene.height + 2}`}
      data-testid="graph"
      onKeyDown={onKeyDown}
      onFocusIn={() => {
        has.current = true;
      }}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget) has.current = false;
      }}
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto-start-reverse"
        >
          <path d="M1 1L7 4L1 7" class="head" />
        </marker>
      </defs>
      {scene.boxes.map((one) => (
        <BoxShape
          key={keyOf(one)}
          one={one}
          isChosen={keyOf(one) === chosen}
          isReached={one === focused}
          choose={() => choose(one)}
          turn={() => turn(one)}
        />
      ))}
      {wires.map((wire) => (
        <path
          key={`${wire.start}-${wire.end}`}
          class={`wire${hot(wire) ? " hot" : ""}${lit(wire) ? "" : " faded"}`}
          d={pathOf(wire.points)}
          marker-end="url(#arrow)"
        >
          <title>{wire.description}</title>
        </path>
      ))}
    </svg>
  );
}

function pathOf(points: readonly number[]): string {
  return points.map((one, i) => (i === 0 ? `M${one}` : i % 2 ? ` ${one}` : `L${one}`)).join("");
}

interface ShapeProps {
  one: SceneBox;
  isChosen: boolean;
  isReached: boolean;
  choose: () => void;
  turn: () => void;
}

function BoxShape({ one, isChosen, isReached, choose, turn }: ShapeProps) {
  const [x, y, width, height] = one.at;
  const title = titleOf(one);
  const words = [title, one.what, one.type, one.source, plural(one.count, "equation"), one.tooltip].filter(Boolean);
  const classes = ["box", one.open && "open", isChosen && "chosen", !one.lit && "faded"].filter(Boolean).join(" ");
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is SVG.
    <g
      class={classes}
      role="button"
      tabIndex={isReached ? 0 : -1}
      data-key={keyOf(one)}
      data-title={title}
      aria-label={words.join(", ")}
      aria-expanded={one.opens ? one.open : undefined}
      onClick={choose}
      onDblClick={turn}
    >
      <title>{words.join("\n")}</title>
      <rect class="ground" x={x} y={y} width={width} height={height} rx={one.open ? 6 : 4} />
      {!one.open && <rect class={`tone ${one.tone}`} x={x} y={y + 3} width={4} height={height - 6} rx={2} />}
      <text class="name" x={x + (one.open ? 12 : 11)} y={y + (one.open ? 17 : 15)}>
        {one.open
          ? cut(`${title}${one.what ? `  ${one.what}` : ""}`, (width - 130) / 7.3)
          : cut(title, one.opens ? 20 : 22)}
      </text>
      {one.open ? (
        <text class="small" x={x + width - 26} y={y + 17} text-anchor="end">
          {plural(one.count, "equation")}
        </text>
      ) : (
        <text class="small" x={x + 11} y={y + 29}>
          {cut(one.detail, 30)}
        </text>
      )}
      {one.opens && (
        // biome-ignore lint/a11y/noStaticElementInteractions: Enter does the same where the box has the focus.
        <g
          class="turn"
          onClick={(event) => {
            event.stopPropagation();
            turn();
          }}
          onDblClick={(event) => event.stopPropagation()}
        >
          <rect class="hit" x={x + width - 22} y={y + 2} width={20} height={20} />
          <path
            class="sign"
            d={one.open ? `M${x + width - 16} ${y + 10}l4 4l4 -4` : `M${x + width - 14} ${y + 8}l4 4l-4 4`}
          />
        </g>
      )}
    </g>
  );
}
