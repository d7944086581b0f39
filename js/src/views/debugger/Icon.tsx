/** The icons of JupyterLab's debugger. */
import type { HowToResume } from "../../transport/stops";

const PATHS: Partial<Record<HowToResume, string>> = {
  continue: "M4 3v10l8-5z",
  next: "M3 3v10l6-5zM11 3h2v10h-2z",
  all: "M2 3v10l6-5zM8 3v10l6-5z",
  quit: "M4 4h8v8H4z",
  step: "M2 8a6 6 0 0 1 10.5-3.5L14 3v5H9l2-2a4 4 0 0 0-7 2zM8 11a1.6 1.6 0 1 0 .01 0",
  into: "M7 1h2v6h3l-4 4-4-4h3zM8 12a1.6 1.6 0 1 0 .01 0",
  out: "M7 10h2V5h3L8 1 4 5h3zM8 12a1.6 1.6 0 1 0 .01 0",
};

export function Icon({ how }: { how: HowToResume }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[how]} />
    </svg>
  );
}
