/** The numbers of an array, page by page, and the array as a file. */
import { useEffect, useState } from "preact/hooks";
import { download } from "../../kit/give";
import type { WantedSlice } from "../../store/arrays";
import type { RunStore } from "../../store/run";
import type { Values } from "../../transport/wire";

interface Props {
  run: RunStore;
  wanted: WantedSlice;
  name: string;
}

export function Full({ run, wanted, name }: Props) {
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState("");
  const { event, value, axes } = wanted;
  const isTiled = (axes?.length ?? 0) > 2;
  const save = () =>
    run.ask({ type: "file", format: "npy", event, value }, (answer) => {
      if (typeof answer === "string") setProblem(answer);
      else if (answer.type === "file") download(`${name.replace(/\W+/g, "_")}_${event}.npy`, new Blob([answer.bytes]));
    });
  return (
    <div class="full">
      <button
        type="button"
        class="mini"
        aria-expanded={open && !isTiled}
        disabled={isTiled}
        title={isTiled ? "Numbers are shown for one picture only: choose no tiles" : "The numbers, page by page"}
        data-testid="values"
        onClick={() => setOpen(!open)}
      >
        values
      </button>
      <button type="button" class="mini" title="Save the whole array for NumPy" data-testid="npy" onClick={save}>
        save .npy
      </button>
      {problem && <span class="bad-text">{problem}</span>}
      {open && !isTiled && <Numbers run={run} wanted={wanted} />}
    </div>
  );
}

function Numbers({ run, wanted }: Omit<Props, "name">) {
  const [at, setAt] = useState({ row: 0, column: 0 });
  const [page, setPage] = useState<Values | string>("Loading …");
  const { event, value, index, image, axes } = wanted;
  useEffect(() => {
    let current = true;
    const question = {
      type: "values",
      event,
      value,
      index: image ? [...index, 0] : index,
      ...(axes && { axes }),
      ...at,
    } as const;
    run.ask(question, (answer) => {
      if (current && (typeof answer === "string" || answer.type === "values")) setPage(answer);
    });
    return () => {
      current = false;
    };
  }, [event, value, index.join(), axes?.join(), image, at]);
  if (typeof page === "string") return <p class="muted">{page}</p>;
  const [rows, columns] = page.page;
  const turn = (label: string, sign: string, row: number, column: number) => {
    const next = { row: page.row + row * rows, column: page.column + column * columns };
    const out = next.row < 0 || next.column < 0 || next.row >= page.rows || next.column >= page.columns;
    return (
      <button
        type="button"
        class="step-button"
        aria-label={label}
        title={label}
        disabled={out}
        onClick={() => setAt(next)}
      >
        {sign}
      </button>
    );
  };
  return (
    <>
      <span class="number muted">
        rows {page.row}–{page.row + rows - 1} of {page.rows}, columns {page.column}–{page.column + columns - 1} of{" "}
        {page.columns}
      </span>
      {turn("Rows before", "↑", -1, 0)}
      {turn("Next rows", "↓", 1, 0)}
      {turn("Columns before", "←", 0, -1)}
      {turn("Next columns", "→", 0, 1)}
      <table class="mono number elements" data-testid="numbers">
        <tbody>
          {Array.from({ length: rows }, (_, i) => (
            <tr key={i}>
              <th scope="row">{page.row + i}</th>
              {page.text.slice(i * columns, (i + 1) * columns).map((text, k) => (
                <td key={k}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
