/** What the watched values cost: a quiet line of the overview, and no note. `watch/choosing/price.py` writes it. */

const COST =
  /^With [\d,]+ watched values? \((.+) a step\) programs are expected to take about (.+?)\. It is an estimate/;

export function isCost(note: string): boolean {
  return COST.test(note);
}

/** `39 watched values, 3.56 kB a step: about 1.7 times as long`, "" where nobody said what they cost. */
export function costOf(notes: readonly string[], watched: number): string {
  const [, bytes, times] = notes.map((note) => COST.exec(note)).find((found) => found !== null) ?? [];
  return times ? `${watched} watched ${watched === 1 ? "value" : "values"}, ${bytes} a step: about ${times}` : "";
}
