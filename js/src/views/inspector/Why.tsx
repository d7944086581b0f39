/** Of a value that is not finite: what computes it, and what that was computed from at the step. */
import { value as exact } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { guilty, isWatched, type WatchSite } from "../../store/watched";
import { watchedName } from "../sites/name";
import { firstOfCall } from "../source/badOfCall";
import { badOf, type LookAtStop, type Seen, type SeenValue, seenOf } from "../source/reading";
import { Section } from "./Section";

const MOST_OPERANDS = 8;
const NAME = /[A-Za-z_]\w*/g;

interface Props {
  run: RunStore;
  ui: UiState;
  found: SeenValue | null;
  look: LookAtStop;
}

export function Why({ run, ui, found, look }: Props) {
  if (!found || !badOf(found)) return null;
  const { site } = found;
  const first = found.local ? null : firstOfCall(run, found.table.event(found.row));
  const by = guilty(site);
  const text = by?.text ?? expressionOf(run, site);
  const [file, line] = [by?.file ?? site.file, by?.line ?? site.line];
  const operands = operandsOf(run, { text, file, line, of: site });
  const go = (to: { file: string; line: number }) => {
    ui.place.value = { file: to.file, line: to.line, index: 0 };
  };
  return (
    <Section ui={ui} name="Why" about={badOf(found)}>
      <table class="why-table mono">
        <tbody>
          {first && <Began run={run} ui={ui} site={first} look={look} />}
          {operands.slice(0, MOST_OPERANDS).map((one) => (
            <Operand key={one.id} run={run} ui={ui} site={one} look={look} />
          ))}
          <tr>
            <td>
              <button type="button" class="link" title="Show the line" onClick={() => go({ file, line })}>
                line {line}
              </button>
            </td>
            <td>
              {by ? "derivative of " : ""}
              {text}
            </td>
            <td class="bad-text number">{badOf(found)}</td>
          </tr>
        </tbody>
      </table>
      {operands.length === 0 && <p class="muted">What it is computed from was not watched.</p>}
    </Section>
  );
}

/** What was the first in the call that was not finite, the operation that computes it, and its operands. */
function Began({ run, ui, site, look }: { run: RunStore; ui: UiState; site: WatchSite; look: LookAtStop }) {
  const by = guilty(site);
  const text = by?.text ?? expressionOf(run, site);
  const [file, line] = [by?.file ?? site.file, by?.line ?? site.line];
  return (
    <>
      <tr>
        <td class="muted" colSpan={3}>
          First in this call: {by ? "the derivative of " : ""}
          {text}, line {line}
        </td>
      </tr>
      {operandsOf(run, { text, file, line, of: site })
        .slice(0, MOST_OPERANDS)
        .map((one) => (
          <Operand key={`first ${one.id}`} run={run} ui={ui} site={one} look={look} />
        ))}
      <Operand run={run} ui={ui} site={site} look={look} />
    </>
  );
}

function Operand({ run, ui, site, look }: { run: RunStore; ui: UiState; site: WatchSite; look: LookAtStop }) {
  const found = seenOf(run, site, look);
  const bad = found && badOf(found);
  return (
    <tr data-operand={watchedName(site)}>
      <td class="muted">line {site.line}</td>
      <td>
        <button
          type="button"
          class="link"
          title="Inspect it"
          onClick={() => {
            ui.value.value = site.id;
          }}
        >
          {watchedName(site)}
        </button>
      </td>
      <td class={`number ${bad ? "bad-text" : ""}`}>{found ? bad || inShort(found) : "–"}</td>
    </tr>
  );
}

function inShort({ table, get }: Seen): string {
  if (table.isScalar) return exact(get("value"));
  const zeros = get("zeros") > 0 ? ` · ${exact(get("zeros"))} zero` : "";
  return `${exact(get("min"))} … ${exact(get("max"))}${zeros}`;
}

/** What computes it, as far as that stands in one line; the line, where the file is not here. */
function expressionOf(run: RunStore, { file, source, line, end_line, column, end_column }: WatchSite): string {
  const known = run.sources.get(file, false);
  const text = typeof known === "object" ? known.lines[line - known.first_line] : undefined;
  if (text === undefined || end_column <= column) return source.trim();
  return text.slice(column, line === end_line ? end_column : undefined).trim();
}

interface Wanted {
  text: string;
  file: string;
  line: number;
  of: WatchSite;
}

/** The values whose names stand in `text`: of each name the one that was computed last before that line. */
export function operandsOf(run: RunStore, { text, file, line, of }: Wanted): WatchSite[] {
  const wanted = new Set(text.match(NAME));
  const found = new Map<string, WatchSite>();
  for (const id of run.watched.tables.keys()) {
    const site = run.sites.get(id);
    if (!site || !isWatched(site) || site.watch.role !== "value" || site.file !== file) continue;
    const { name } = site.watch;
    const [root = ""] = /^[A-Za-z_]\w*/.exec(name) ?? [];
    const isNamed = name === root ? wanted.has(name) : wanted.has(root) && text.includes(name);
    if (!isNamed || site.line > line || (site.line === line && site.id === of.id)) continue;
    if (site.function !== functionAt(run, file, line, of)) continue;
    const before = found.get(name);
    if (!before || before.line <= site.line) found.set(name, site);
  }
  return [...found.values()].sort((a, b) => a.line - b.line);
}

function functionAt(run: RunStore, file: string, line: number, of: WatchSite): string {
  if (of.file === file && of.line === line) return of.function;
  for (const id of run.watched.tables.keys()) {
    const site = run.sites.get(id);
    if (site && site.file === file && site.line === line) return site.function;
  }
  return of.function;
}
