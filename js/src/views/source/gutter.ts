/** Breakpoints at lines of a file, set and taken away beside the code. */
import type { RunStore } from "../../store/run";

/** `on`: it has stopped this run; `next`: it will stop the next one, or this one when its program gets there. */
export type Breakpoint = "on" | "next" | null;

/** The line as the kernel names it, `train.py:41`: by a place that it has named in the file. */
export function nameOf(run: RunStore, file: string, line: number): string {
  const known = [...run.sites.values()].find((site) => site.file === file && site.where.endsWith(`:${site.line}`));
  const name = known ? known.where.slice(0, -`:${known.line}`.length) : (file.split("/").at(-1) ?? file);
  return `${name}:${line}`;
}

export function breakpointAt({ status }: RunStore, name: string): Breakpoint {
  const stopped = status?.breakpoints.find(({ condition }) => condition === name);
  if (stopped?.enabled && stopped.hits > 0) return "on";
  return stopped || status?.lines.includes(name) ? "next" : null;
}

export function toggleBreakpoint(run: RunStore, name: string): void {
  if (run.gone) return;
  run.ask({ type: "line", line: name, on: breakpointAt(run, name) === null }, (answer) =>
    run.complain(typeof answer === "string" ? answer : ""),
  );
}
