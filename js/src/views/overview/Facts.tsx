/** The facts of the run. Each leads to the view with its details. */
import type { Fact } from "../../store/headline";

const DESTINATIONS: Readonly<Record<Fact["id"], string>> = {
  steps: "Show them on the timeline",
  pace: "Show how long each call took",
  loss: "Show this value",
  quality: "Show this value",
  nan: "Go to its line, at that step (!)",
  findings: "Show the worst of them, or what was checked",
  compiled: "Show what was compiled, and why",
};

/** The number of facts that fit into one row of a narrow panel. */
const ONE_ROW = 4;

export function Facts({ facts, go }: { facts: readonly Fact[]; go: (fact: Fact) => void }) {
  return (
    <section
      class="facts"
      data-testid="facts"
      aria-label="Facts"
      style={{ "--in-a-row": facts.length > ONE_ROW ? Math.ceil(facts.length / 2) : facts.length }}
    >
      {facts.map((fact) => (
        <button
          type="button"
          key={fact.id}
          class="fact"
          data-testid={`fact-${fact.id}`}
          title={`${fact.label} ${fact.value} · ${fact.note}. ${DESTINATIONS[fact.id]}`}
          onClick={() => go(fact)}
        >
          <span class="fact-label">{fact.label}</span>
          <span class={`fact-value number${fact.bad ? " bad-text" : ""}`}>{fact.value}</span>
          <span class="fact-note">{fact.note}</span>
        </button>
      ))}
    </section>
  );
}
