import { LabIcon } from "@jupyterlab/ui-components";

/** Brackets around a pulse. */
export const icon = new LabIcon({
  name: "jax-debug:runs",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="16">
  <g class="jp-icon3" fill="none" stroke="#616161" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
    <path class="jp-icon3-stroke" d="M7 4H4v16h3M17 4h3v16h-3"/><path d="M7 12h2l2-4 2 8 2-4h2"/>
  </g></svg>`,
});
