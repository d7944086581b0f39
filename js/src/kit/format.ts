/** Formats numbers for people. */

const THIN_SPACE = "\u2009";

export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
}

export function plural(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** What one event of a site is called, by the kind of the site. Other kinds are callbacks. */
const NOUNS: Record<string, string> = { print: "print", log: "print", breakpoint: "breakpoint hit" };

/**
 * Returns `12 prints`, `3 callbacks`, or `5 prints and callbacks`, depending on the kinds of the sites.
 * `events/amounts.py` is its twin.
 */
export function pluralFired(n: number, kinds: Iterable<string>): string {
  const nouns = new Set(Array.from(kinds, (kind) => NOUNS[kind] ?? "callback"));
  if (nouns.size < 2) return plural(n, [...nouns][0] ?? "print");
  return n === 1 ? "1 print or callback" : `${count(n)} prints and callbacks`;
}

/** Formats a duration, as `in_time` of `events/amounts.py` does. */
export function seconds(s: number): string {
  if (s < 9.95e-6) return `${Number((s * 1e6).toPrecision(2))} µs`;
  if (s < 0.000_999_5) return `${(s * 1e6).toFixed(0)} µs`;
  if (s < 0.0995) return `${Number((s * 1e3).toPrecision(2))} ms`;
  if (s < 9.95) return `${s.toFixed(2)} s`;
  if (s < 60) return `${s.toFixed(1)} s`;
  const whole = Math.round(s);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function rate(perSecond: number): string {
  if (perSecond < 1) return "0/s";
  if (perSecond < 10_000) return `${count(perSecond)}/s`;
  if (perSecond < 1e6) return `${(perSecond / 1e3).toPrecision(3)} k/s`;
  return `${(perSecond / 1e6).toPrecision(3)} M/s`;
}

/** Formats a value for display beside its plot. */
export function value(y: number): string {
  if (Number.isNaN(y)) return "nan";
  if (!Number.isFinite(y)) return y > 0 ? "inf" : "-inf";
  if (y === 0 || Number.isInteger(y)) return Math.abs(y) < 1e9 ? String(y) : y.toExponential(3);
  const size = Math.abs(y);
  return size >= 1e6 || size < 1e-4 ? y.toExponential(3) : String(Number(y.toPrecision(5)));
}

/** Formats a tick of an axis. Ticks are round numbers, so six digits are enough. */
export function tick(y: number): string {
  const [size, round] = [Math.abs(y), Number(y.toPrecision(6))];
  return y !== 0 && (size >= 1e6 || size < 1e-3) ? round.toExponential().replace("+", "") : String(round);
}

/** Formats a value in little space. */
export function brief(y: number): string {
  if (!Number.isFinite(y) || Number.isInteger(y)) return value(y);
  const size = Math.abs(y);
  return size >= 1e4 || size < 1e-3 ? y.toExponential(1) : String(Number(y.toPrecision(3)));
}

/**
 * Returns `step` for `train.<locals>.step`. A lambda or comprehension keeps its outer name: `step.<lambda>`. The twin
 * of `short_function` in `events/function_names.py`.
 */
export function shortFunction(qualified: string): string {
  return qualified.replace(/^.*<locals>\.(?!<)/, "").replaceAll(".<locals>", "");
}
