/**
 * Updates the runs that the notebooks of this page have stored. The page misses what the kernel writes into an output
 * while the page loads or is disconnected; such an output is replaced by the kernel's newest one. If the kernel is
 * gone, the output says so. `jax_debug_widgets/widgets/static.py` writes the HTML.
 */
import type { ICodeCellModel } from "@jupyterlab/cells";
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { LastSeen, SeenLines } from "../../src/entry/last";
import { goesOn } from "../../src/kit/states";
import type { RunRow, SavedMessage } from "./wire";

const HTML = "text/html";
const PLAIN = "text/plain";
const GONE = "Kernel gone";
const BEFORE = "the kernel had last written it";

interface Stored {
  html: string;
  text: string;
  write(html: string, text: string): void;
}

/** Yields the outputs that show a run, in all notebooks of the page. */
function* outputsOf(notebooks: INotebookTracker, key: string): Generator<Stored> {
  const models: ICodeCellModel[] = [];
  notebooks.forEach(({ isDisposed, context }) => {
    if (isDisposed || context.model.readOnly) return;
    for (const cell of context.model.cells) if (cell.type === "code") models.push(cell as ICodeCellModel);
  });
  for (const { outputs } of models) {
    for (let i = 0; i < outputs.length; i++) {
      const { data } = outputs.get(i);
      const html = String(data[HTML] ?? "");
      if (!html.includes(`data-jaxdebug-run="${key}"`)) continue;
      const write = (html: string, text: string) => {
        const output = outputs.get(i).toJSON();
        outputs.set(i, { ...output, data: { ...(output.data as object), [HTML]: html, [PLAIN]: text } });
      };
      yield { html, text: String(data[PLAIN] ?? ""), write };
    }
  }
}

/** Returns the number of a snapshot: the kernel numbers the snapshots of a run. */
function numberOf(html: string): number {
  return Number(/data-jaxdebug-saved="(\d+)"/.exec(html)?.[1] ?? 0);
}

export class Saved {
  /** For each run, the number of the snapshot that was last compared with the notebooks. */
  private readonly compared = new Map<string, number>();

  constructor(private readonly notebooks: INotebookTracker) {}

  /** Compares all runs again, because a notebook was opened. */
  opened(): void {
    this.compared.clear();
  }

  /** Requests each run of which an output is older than the kernel's newest snapshot. */
  compare(rows: readonly RunRow[], ask: (key: string) => void): void {
    for (const { key, saved = 0 } of rows) {
      if (this.compared.get(key) === saved) continue;
      this.compared.set(key, saved);
      const isBehind = [...outputsOf(this.notebooks, key)].some(({ html }) => numberOf(html) < saved);
      if (isBehind) ask(key);
    }
  }

  write({ run, data }: SavedMessage): void {
    const html = data[HTML] ?? "";
    for (const stored of outputsOf(this.notebooks, run)) {
      if (numberOf(stored.html) < numberOf(html)) stored.write(html, data[PLAIN] ?? "");
    }
  }

  /** Ends the active runs, because the kernel is gone. */
  end(rows: readonly RunRow[]): void {
    for (const row of rows) {
      if (!goesOn(row.state)) continue;
      const page = window.__jaxDebug;
      const seen = page && "lastOf" in page ? page.lastOf(row.key) : undefined;
      for (const { html, text, write } of outputsOf(this.notebooks, row.key)) {
        write(...ended(html, text, seen ?? { events: row.events, elapsed: row.elapsed, streams: [] }));
      }
    }
  }
}

/** Returns the HTML and the plain text of a run that ended with its kernel, with what the page has received of it. */
export function ended(html: string, text: string, { events, elapsed, streams }: LastSeen): [string, string] {
  const numbers = events === 1 ? "1 print or value" : `${events} prints and values`;
  const { body } = new DOMParser().parseFromString(html, "text/html");
  const part = (name: string) => body.querySelector(`[data-jaxdebug-part="${name}"]`);
  part("state")?.replaceChildren(GONE);
  const seconds = `${elapsed.toFixed(2)} s`;
  part("numbers")?.replaceChildren(`${numbers} · ${seconds} · as this page had received them; the rest as ${BEFORE}`);
  if (streams.length > 0) part("lines")?.replaceWith(linesOf(streams));
  const [first = "", ...rest] = text.split("\n");
  const headline = first.replace(/ — [\w ]+,? after .*/, ` — kernel gone after ${seconds}, ${numbers}`);
  const before = rest.length > 0 ? [`  the rest is as ${BEFORE}:`, ...rest] : [];
  return [body.innerHTML, [headline, ...before].join("\n")];
}

function linesOf(streams: readonly SeenLines[]): HTMLElement {
  const all = document.createElement("div");
  all.dataset.jaxdebugPart = "lines";
  for (const { name, received, lines } of streams) {
    const [head, list] = [document.createElement("div"), document.createElement("pre")];
    head.textContent = `${name} ${received} · last ${lines.length}`;
    head.style.cssText = "padding:3px 10px;font-weight:600;font-size:11px";
    list.textContent = lines.join("\n");
    list.style.cssText = "max-height:220px;overflow:auto;margin:0;padding:0 10px 6px;font-size:12px";
    all.append(head, list);
  }
  return all;
}
