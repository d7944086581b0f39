/** See `sheets.mjs`. */
export function classesOf(sheet: string): Set<string>;
export function clashes(bundles: Record<string, string[]>): string[];
