/** Details of the selected box: its source, its result, and its neighbours. */
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../../kit/format";
import { type Ask, type Excerpt, type SceneBox, titleOf } from "./scene";

interface Props {
  ask: Ask;
  box: SceneBox;
  way: string;
  follow: (way: string) => void;
}

const WAYS: readonly (readonly [way: string, words: (dtype: string) => string, title: string])[] = [
  ["outputs", () => "to the outputs", "Fade all that does not depend on it"],
  ["inputs", () => "what it depends on", "Fade all that it does not depend on"],
  ["dtype", (dtype) => `why ${dtype}?`, "Show where this dtype comes from"],
];

export function Side({ ask, box, way, follow }: Props) {
  const [excerpt, setExcerpt] = useState<Excerpt | null>(null);
  useEffect(() => {
    let isWanted = true;
    ask<Excerpt>("source", { box: box.box }).then(
      (found) => isWanted && setExcerpt(found),
      () => isWanted && setExcerpt(null),
    );
    return () => {
      isWanted = false;
    };
  }, [ask, box.box]);
  const root = useRef<HTMLElement>(null);
  // Scrolls to the line if there is little space.
  useEffect(() => {
    const here = root.current?.querySelector<HTMLElement>(".here");
    if (root.current && here) root.current.scrollTop = here.offsetTop - root.current.clientHeight + 60;
  }, [excerpt]);
  const dtype = box.type.split("[")[0] || "this type";
  return (
    <aside class="about" ref={root} aria-label="The chosen box" data-testid="about-box">
      <h3 class="mono">{titleOf(box)}</h3>
      <p class="muted">
        {[box.what, plural(box.count, "equation"), box.tooltip].filter(Boolean).join(" · ")}
        {box.type && <span class="mono type"> {box.type}</span>}
      </p>
      <fieldset class="ways" aria-label="Ways">
        {WAYS.map(([name, words, title]) => (
          <button
            type="button"
            key={name}
            class="button"
            aria-pressed={way === name}
            disabled={!box.type}
            data-testid={`way-${name}`}
            title={title}
            onClick={() => follow(way === name ? "" : name)}
          >
            {words(dtype)}
          </button>
        ))}
      </fieldset>
      {excerpt && excerpt.lines.length > 0 && (
        <>
          <h4 class="muted">
            {excerpt.label}:{excerpt.line}
          </h4>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
          <pre class="excerpt" data-testid="excerpt" tabIndex={0}>
            {excerpt.lines.map((text, i) => (
              <code key={excerpt.first + i} class={excerpt.first + i === excerpt.line ? "here" : ""}>
                <span class="gutter number">{excerpt.first + i}</span>
                {text || " "}
                {"\n"}
              </code>
            ))}
          </pre>
        </>
      )}
    </aside>
  );
}
