/** The program as nested boxes that the user can open, close, search, colour and follow. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Canvas } from "./Canvas";
import { Side } from "./Side";
import { type About, type Ask, keyOf, type Scene, type SceneBox } from "./scene";

interface Props {
  ask: Ask;
  about: About;
}

interface Wanted {
  opened: number[] | null;
  colour: string;
  find: string;
  way: string;
  box: number;
  side: string;
  reveal: number | null;
}

const FIRST: Wanted = { opened: null, colour: "role", find: "", way: "", box: 0, side: "forward", reveal: null };
const COLOURS: Readonly<Record<string, string>> = { nan: "NaN" };
const ZOOMS = [0.5, 0.7, 0.85, 1, 1.25, 1.6];

/**
 * Returns the index of the match `step` after match `from`, wrapping around. From -1, returns the first or the last
 * match; -1 if there is none.
 */
function matchAfter(from: number, step: number, count: number): number {
  if (!count) return -1;
  if (from < 0) return step > 0 ? 0 : count - 1;
  return (from + step + count) % count;
}

export function GraphView({ ask, about }: Props) {
  const [wanted, setWanted] = useState(FIRST);
  const [scene, setScene] = useState<Scene | null>(null);
  const [problem, setProblem] = useState("");
  const [chosen, setChosen] = useState("");
  const [found, setFound] = useState(-1);
  const [answered, setAnswered] = useState("");
  const awaited = useRef(0);
  const [zoom, setZoom] = useState(3);
  const search = useRef<HTMLInputElement>(null);
  const plane = useRef<HTMLElement>(null);
  const showMatch = (among: Scene, from: number, step: number) => {
    const next = matchAfter(from, step, among.found.length);
    setFound(next);
    if (next >= 0) setWanted({ ...wanted, opened: among.opened, reveal: among.found[next]?.equation ?? null });
  };
  useEffect(() => {
    let isNewest = true;
    ask<Scene>("scene", wanted).then(
      (answer) => {
        if (!isNewest) return;
        setScene(answer);
        setAnswered(wanted.find);
        setProblem("");
        if (awaited.current) showMatch(answer, -1, awaited.current);
        awaited.current = 0;
        const shown = answer.shown === null ? undefined : answer.boxes[answer.shown];
        if (shown) setChosen(keyOf(shown));
      },
      (error: Error) => isNewest && setProblem(error.message),
    );
    return () => {
      isNewest = false;
    };
  }, [ask, wanted]);
  // Scrolls to the match after it was drawn.
  useEffect(() => {
    if (wanted.reveal === null) return;
    const box = plane.current?.querySelector(`[data-key="${chosen}"]`);
    box?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [chosen, scene, wanted.reveal]);
  if (problem) return <Problem words={problem} />;
  if (!scene) return <div class="plane loading" role="status" aria-label="Loading the graph" />;

  const change = (changes: Partial<Wanted>) => setWanted({ ...wanted, opened: scene.opened, reveal: null, ...changes });
  const box = scene.boxes.find((candidate) => keyOf(candidate) === chosen);
  const turn = (one: SceneBox) => {
    if (!one.opens) return;
    setChosen(keyOf(one));
    const opened = one.open ? scene.opened.filter((number) => number !== one.box) : [...scene.opened, one.box];
    change({ opened });
  };
  const goTo = (step: number) => {
    if (answered === wanted.find) showMatch(scene, found, step);
    else awaited.current = step; // The matches of these letters have not arrived.
  };
  const clear = () => {
    if (search.current) search.current.value = "";
    setFound(-1);
    change({ find: "", way: "" });
  };
  return (
    <section
      class="graph-view"
      aria-label="Graph"
      onKeyDown={(event) => {
        if (event.target instanceof HTMLInputElement && event.key !== "Escape") return;
        if (event.key === "/") search.current?.focus();
        else if (event.key === "Escape" && (wanted.find || wanted.way)) clear();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <div class="tools">
        <label>
          colour{" "}
          <select
            data-testid="colour"
            title="What the colours of the boxes mean"
            value={wanted.colour}
            onChange={({ currentTarget }) => change({ colour: currentTarget.value })}
          >
            {scene.colours.map((name) => (
              <option key={name} value={name}>
                {COLOURS[name] ?? name}
              </option>
            ))}
          </select>
        </label>
        <input
          ref={search}
          type="search"
          data-testid="find"
          placeholder="search names, operations, types, lines"
          aria-label="Search the program"
          title="Search the program (/); Enter goes to the next match"
          onInput={({ currentTarget }) => {
            setFound(-1);
            awaited.current = 0;
            change({ find: currentTarget.value, way: "" });
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            goTo(event.shiftKey ? -1 : 1);
          }}
        />
        {scene.found.length > 0 && (
          <span class="steps">
            <button
              type="button"
              class="button"
              aria-label="Previous match"
              title="Previous match"
              onClick={() => goTo(-1)}
            >
              ‹
            </button>
            <button
              type="button"
              class="button"
              aria-label="Next match"
              title="Next match"
              data-testid="next"
              onClick={() => goTo(1)}
            >
              ›
            </button>
          </span>
        )}
        {scene.spoilt > 0 && (
          <button
            type="button"
            class="button"
            aria-pressed={wanted.way === "nan"}
            data-testid="way-nan"
            title="Show everything that depends on values that were not finite in the newest run"
            onClick={() => change({ way: wanted.way === "nan" ? "" : "nan", find: "" })}
          >
            from NaN to the outputs
          </button>
        )}
        <span class="description" role="status" data-testid="description">
          {scene.description}
        </span>
        {(wanted.way || wanted.find) && (
          <button type="button" class="button" title="Fade nothing" onClick={clear}>
            show all
          </button>
        )}
        <span class="grow" />
        <span class="steps">
          <button
            type="button"
            class="button"
            aria-label="Zoom out"
            title="Zoom out"
            disabled={zoom === 0}
            onClick={() => setZoom(zoom - 1)}
          >
            −
          </button>
          <button
            type="button"
            class="button"
            aria-label="Zoom in"
            title="Zoom in"
            disabled={zoom === ZOOMS.length - 1}
            onClick={() => setZoom(zoom + 1)}
          >
            +
          </button>
        </span>
      </div>
      <div class="split">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
        <section class="plane" ref={plane} tabIndex={0} aria-label="The boxes">
          <Canvas
            scene={scene}
            name={about.name}
            zoom={ZOOMS[zoom] ?? 1}
            chosen={chosen}
            choose={(one) => setChosen(keyOf(one))}
            turn={turn}
          />
        </section>
        {box && (
          <Side
            ask={ask}
            box={box}
            way={wanted.box === box.box && wanted.side === box.side ? wanted.way : ""}
            follow={(way) => change({ way, find: "", box: box.box, side: box.side })}
          />
        )}
      </div>
      <div class="legend">
        {scene.legend.map(([tone, words]) => (
          <span key={tone + words}>
            <i class={`tone ${tone}`} /> {words}
          </span>
        ))}
        <span class="grow" />
        <span class="muted">double click or Enter opens a box</span>
      </div>
    </section>
  );
}

export function Problem({ words }: { words: string }) {
  return (
    <div class="empty" role="alert" data-testid="program-problem">
      <span>{words}</span>
    </div>
  );
}
