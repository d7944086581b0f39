/** Sets and removes breakpoints at lines of a file. */
import type { RunStore } from "../../store/run";

/**
 * `on`: the breakpoint has stopped this run. `next`: it will stop the next run, or this one when its program gets
 * there.
 */
export type Breakpoint = "on" | "next" | null;

/** Returns the kernel's name of a line, such as `train.py:41`. The name of the file comes from a site in it. */
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
