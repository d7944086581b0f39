/** A view that the kernel renders as HTML: the table, the linked columns, the differences. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "./GraphView";
import { linkColumns } from "./linked";
import type { Ask } from "./scene";

interface Props {
  ask: Ask;
  view: string;
}

const GROUPS = ["line", "primitive", "scope", "equation"];

export function HtmlView({ ask, view }: Props) {
  const [by, setBy] = useState("");
  const [shown, setShown] = useState<{ html: string; by?: string } | null>(null);
  const [problem, setProblem] = useState("");
  const body = useRef<HTMLElement>(null);
  useEffect(() => {
    let isNewest = true;
    setProblem("");
    ask<{ html: string; by?: string }>("html", { view, by }).then(
      (answer) => isNewest && setShown(answer),
      (error: Error) => isNewest && setProblem(error.message),
    );
    return () => {
      isNewest = false;
    };
  }, [ask, view, by]);
  useEffect(() => {
    if (!body.current || !shown) return;
    body.current.innerHTML = shown.html; // The kernel writes it and escapes text of the program.
    const columns = body.current.querySelector<HTMLElement>(".jaxdebug-linked");
    if (columns) return linkColumns(columns);
  }, [shown]);
  return (
    <>
      {view === "table" && (
        <div class="tools">
          <label>
            a row for each{" "}
            <select
              data-testid="table-by"
              title="What is added up in a row"
              value={by || shown?.by || "line"}
              onChange={({ currentTarget }) => setBy(currentTarget.value)}
            >
              {GROUPS.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
      )}
      {problem ? (
        <Problem words={problem} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls.
        <section class="written" ref={body} tabIndex={0} aria-label={view} data-testid={`view-${view}`} />
      )}
    </>
  );
}
