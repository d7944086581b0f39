/** A program as Table, Linked, Graph or Diff, and a selection if there are several programs. */
import type { Signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { plural } from "../../kit/format";
import { GraphView, Problem } from "./GraphView";
import { HtmlView } from "./HtmlView";
import type { About, Ask, View } from "./scene";

const VIEWS: readonly (readonly [View, string])[] = [
  ["table", "Table"],
  ["linked", "Linked"],
  ["graph", "Graph"],
  ["diff", "Diff"],
];

const DESCRIPTIONS: Readonly<Record<View, string>> = {
  table: "Its equations as rows: type, times, operations, bytes, source",
  linked: "Source, jaxpr, StableHLO and optimised HLO side by side: a row lights up what belongs to it",
  graph: "Functions as boxes, the backward pass beside the forward pass",
  diff: "What differs between the two programs",
};

interface Props {
  ask: Ask;
  /** The key of the only program to show. If absent, the programs that this kernel has shown. */
  program?: string;
  /** The call with the traced programs to show; null for the programs that this kernel has shown. */
  call?: Signal<number | null> | undefined;
  /** The newest call of the run; absent if there is none, or if its program is not known. */
  newest?: number | undefined;
}

export function Program({ ask, program, call, newest }: Props) {
  const [all, setAll] = useState<About[] | null>(null);
  const [key, setKey] = useState(program ?? "");
  const [view, setView] = useState<View | null>(null);
  const [problem, setProblem] = useState("");
  const [description, setDescription] = useState("");
  const ofCall = call?.value ?? null;
  useEffect(() => {
    let isNewest = true;
    setAll(null);
    setProblem("");
    requestPrograms(ask, program, ofCall).then(
      (answer) => {
        if (!isNewest) return;
        setAll(answer.programs);
        setDescription(answer.description ?? "nothing has run");
      },
      (error: Error) => isNewest && setProblem(error.message),
    );
    return () => {
      isNewest = false;
    };
  }, [ask, program, ofCall]);
  const about = all?.find((one) => one.key === key) ?? all?.[0];
  const askOf = useMemo<Ask>(() => (what, body) => ask(what, { ...body, key: about?.key }), [ask, about?.key]);
  const others = call && ofCall !== null && (
    <button
      type="button"
      class="button"
      data-testid="other-programs"
      title="The programs that this kernel has shown"
      onClick={() => {
        call.value = null;
      }}
    >
      call {ofCall} ×
    </button>
  );
  if (problem)
    return (
      <>
        <Problem words={problem} />
        {others}
      </>
    );
  if (!all) return <div class="program loading" role="status" aria-label="Loading the program" />;
  if (!about) return <NoProgram call={call} newest={newest} />;
  const shown = view && (view !== "diff" || about.has_diff) ? view : about.first;
  return (
    <div class="program" data-testid="program">
      <div class="tools">
        <fieldset class="views" aria-label="Views of the program">
          {VIEWS.filter(([name]) => name !== "diff" || about.has_diff).map(([name, words]) => (
            <button
              type="button"
              key={name}
              aria-pressed={shown === name}
              disabled={name !== "diff" && about.equations === 0}
              data-testid={`program-${name}`}
              title={DESCRIPTIONS[name]}
              onClick={() => setView(name)}
            >
              {words}
            </button>
          ))}
        </fieldset>
        {all.length > 1 ? (
          <select
            aria-label="Program"
            title="Which program"
            data-testid="which-program"
            value={about.key}
            onChange={({ currentTarget }) => {
              setKey(currentTarget.value);
              setView(null);
            }}
          >
            {all.map((one, position) => (
              <option key={one.key} value={one.key}>
                {labelAmong(all, position)}
              </option>
            ))}
          </select>
        ) : (
          <strong class="mono">{about.name}</strong>
        )}
        <span class="muted">
          {about.equations.toLocaleString("en")} equations; {description}
        </span>
        {others}
      </div>
      {shown === "graph" ? (
        <GraphView key={about.key} ask={askOf} about={about} />
      ) : (
        <HtmlView key={about.key + shown} ask={askOf} view={shown} />
      )}
    </div>
  );
}

/** Returns `step · 45 equations`, with a number if an earlier program has the same text. */
function labelAmong(all: readonly About[], position: number): string {
  const words = all.map(({ name, equations }) => (equations ? `${name} · ${plural(equations, "equation")}` : name));
  const same = words.slice(0, position).filter((one) => one === words[position]).length;
  return same ? `${words[position]} (${same + 1})` : `${words[position]}`;
}

interface Programs {
  programs: About[];
  description?: string;
}

function requestPrograms(ask: Ask, program: string | undefined, call: number | null): Promise<Programs> {
  if (program) return ask<About>("about", { key: program }).then((about) => ({ programs: [about] }));
  return call === null ? ask<Programs>("programs") : ask<Programs>("call", { call });
}

function NoProgram({ call, newest }: Pick<Props, "call" | "newest">) {
  return (
    <div class="empty" data-testid="no-program">
      <strong>No program has been shown yet</strong>
      {call && newest !== undefined && (
        <button
          type="button"
          class="button"
          data-testid="program-of-newest"
          title="Show the program that the newest call has run"
          onClick={() => {
            call.value = newest;
          }}
        >
          Show the program of call {newest}
        </button>
      )}
      <span>
        In the tab Calls, <i>program…</i> shows that of a call. <code class="mono">%jaxdebug graph f(x)</code> shows one
        without a run; <code class="mono">table</code>, <code class="mono">jaxpr</code>, <code class="mono">hlo</code>{" "}
        and <code class="mono">diff</code> are here too.
      </span>
    </div>
  );
}
