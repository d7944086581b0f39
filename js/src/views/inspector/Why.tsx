/** For a value that is not finite: the expression that computes it, and the operands of that expression at the step. */
import { count, value as exact } from "../../kit/format";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import { derivativeOf, isWatched, type WatchSite } from "../../store/watched";
import { watchedName } from "../sites/name";
import { firstOfCall } from "../source/badOfCall";
import { badOf, type LookAtStop, type Seen, type SeenValue, seenBefore, seenOf } from "../source/reading";
import { Section } from "./Section";

const MOST_OPERANDS = 8;
const MOST_MAKERS = 4;
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
  const { derivatives } = site.watch;
  const byItself = { text: expressionOf(run, site), file: site.file, line: site.line };
  const makers = derivatives.length > 0 ? derivatives.slice(0, MOST_MAKERS) : [byItself];
  const all = makers.flatMap(({ text, file, line }) => operandsOf(run, { text, file, line, of: site }));
  const operands = all.filter(
    (operand, i) => all.findIndex(({ name, site: { id } }) => id === operand.site.id && name === operand.name) === i,
  );
  const go = (to: { file: string; line: number }) => {
    ui.place.value = { file: to.file, line: to.line, index: 0 };
  };
  return (
    <Section ui={ui} name="Why" about={badOf(found)}>
      <table class="why-table mono">
        <tbody>
          {first && <FirstInCall run={run} ui={ui} site={first} look={look} />}
          {operands.slice(0, MOST_OPERANDS).map((operand) => (
            <Operand key={operand.name} ui={ui} operand={operand} found={seenOperand(run, operand, found, look)} />
          ))}
          {makers.length > 1 && (
            <tr>
              <td class="muted" colSpan={3}>
                One of these {count(derivatives.length)} derivatives makes it:
              </td>
            </tr>
          )}
          {makers.map((maker, i) => (
            <tr key={i}>
              <td>
                <button type="button" class="link" title="Show the line" onClick={() => go(maker)}>
                  line {maker.line}
                </button>
              </td>
              <td colSpan={2}>
                {derivatives.length > 0 ? "derivative of " : ""}
                {maker.text} {i === makers.length - 1 && <span class="bad-text number">{badOf(found)}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {operands.length === 0 && <p class="muted">The values that it is computed from were not watched.</p>}
    </Section>
  );
}

/** The first value of the call that was not finite, the operation that computes it, and its operands. */
function FirstInCall({ run, ui, site, look }: { run: RunStore; ui: UiState; site: WatchSite; look: LookAtStop }) {
  const by = derivativeOf(site);
  const text = by?.text ?? expressionOf(run, site);
  const [file, line] = [by?.file ?? site.file, by?.line ?? site.line];
  const found = seenOf(run, site, look);
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
        .map((operand) => (
          <Operand
            key={`first ${operand.name}`}
            ui={ui}
            operand={operand}
            found={found && seenOperand(run, operand, found, look)}
          />
        ))}
      <Operand ui={ui} operand={{ site, name: watchedName(site), isBefore: false }} found={found} />
    </>
  );
}

/** An operand and its name in the expression. `isBefore` says whether its value is from the previous iteration. */
export interface OperandOf {
  site: WatchSite;
  name: string;
  isBefore: boolean;
}

function seenOperand(run: RunStore, { site, isBefore }: OperandOf, found: Seen, look: LookAtStop): Seen | null {
  if (!isBefore) return seenOf(run, site, look);
  // A backward pass counts its own steps.
  return found.site.watch.role === "value" ? seenBefore(run, site, found) : null;
}

function Operand({ ui, operand, found }: { ui: UiState; operand: OperandOf; found: Seen | null }) {
  const { site, name, isBefore } = operand;
  const bad = found && badOf(found);
  return (
    <tr data-operand={name}>
      <td class="muted">line {site.line}</td>
      <td>
        <button
          type="button"
          class="link"
          title={isBefore ? `${watchedName(site)} of the iteration before` : "Inspect it"}
          onClick={() => {
            ui.value.value = site.id;
          }}
        >
          {name}
        </button>
        {isBefore && <span class="muted"> {watchedName(site)}, an iteration before</span>}
      </td>
      <td class={`number ${bad ? "bad-text" : ""}`}>{found ? bad || summary(found) : "–"}</td>
    </tr>
  );
}

function summary({ table, get }: Seen): string {
  if (table.isScalar) return exact(get("value"));
  const zeros = get("zeros") > 0 ? ` · ${exact(get("zeros"))} zero` : "";
  return `${exact(get("min"))} … ${exact(get("max"))}${zeros}`;
}

/** Returns the expression that computes a value if it is in one line; without the file, returns the whole line. */
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

/**
 * Returns the values whose names are in `text`. For each name, it is the last value computed before the line, otherwise
 * the value that the previous iteration passed on under that name.
 */
export function operandsOf(run: RunStore, { text, file, line, of }: Wanted): OperandOf[] {
  const wanted = new Set(text.match(NAME));
  const occurs = (name: string) => {
    const [root = ""] = /^[A-Za-z_]\w*/.exec(name) ?? [];
    return name === root ? wanted.has(name) : wanted.has(root) && text.includes(name);
  };
  const found = new Map<string, OperandOf>();
  for (const id of run.watched.tables.keys()) {
    const site = run.sites.get(id);
    if (!site || !isWatched(site) || site.watch.role !== "value" || site.file !== file) continue;
    if (site.function !== functionAt(run, file, line, of)) continue;
    const { name, given_on } = site.watch;
    const known = found.get(name);
    const isEarlier = site.line < line || (site.line === line && site.id !== of.id);
    if (isEarlier && occurs(name) && (!known || known.isBefore || known.site.line <= site.line))
      found.set(name, { site, name, isBefore: false });
    for (const other of given_on)
      if (occurs(other) && !found.has(other)) found.set(other, { site, name: other, isBefore: true });
  }
  return [...found.values()].sort((a, b) => a.site.line - b.site.line);
}

function functionAt(run: RunStore, file: string, line: number, of: WatchSite): string {
  if (of.file === file && of.line === line) return of.function;
  for (const id of run.watched.tables.keys()) {
    const site = run.sites.get(id);
    if (site && site.file === file && site.line === line) return site.function;
  }
  return of.function;
}
