/** Chooses round numbers for the ticks of an axis. */

/** Formats the ticks with `words`. If this makes ticks look equal, uses as many digits as they need. */
export function tickWords(all: readonly number[], words: (tick: number) => string): string[] {
  const [first = 0, second = first + 1] = all;
  const step = second - first;
  const texts = all.map(words);
  if (all.every((tick, i) => Math.abs(Number(texts[i]) - tick) < step / 10)) return texts;
  const digits = Math.min(20, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  return all.map((tick) => tick.toFixed(digits));
}

/** Returns about `most` ticks from `from` to `to`, at least `least` apart. */
export function ticks(from: number, to: number, most: number, least = 0): number[] {
  const rough = Math.max((to - from) / Math.max(1, most), least, Number.MIN_VALUE);
  const power = 10 ** Math.floor(Math.log10(rough) + 1e-9);
  const step = power * ([1, 2, 5].find((n) => n * power >= rough * (1 - 1e-9)) ?? 10);
  const found: number[] = [];
  // The range may be so narrow that adding a step would not change the number.
  for (let i = Math.ceil(from / step); i * step <= to && found.length <= 2 * most + 2; i++) found.push(i * step);
  return found;
}

/** Returns powers of ten. If the range has fewer than two, returns round numbers. */
export function logTicks(from: number, to: number, most: number): number[] {
  const powers: number[] = [];
  const step = Math.max(1, Math.ceil(Math.log10(to / from) / Math.max(1, most)));
  for (let power = Math.ceil(Math.log10(from)); 10 ** power <= to; power += step) powers.push(10 ** power);
  return powers.length > 1 ? powers : ticks(from, to, most).filter((tick) => tick > 0);
}
