// Feeds the built bundle with a fake training run through a fake model. Options in the hash of the URL: theme; tab;
// rate (events a second); seconds (age of the run at the start); state; calls; stop (breakpoint, step); watch
// (executions a second of the watched code); sites (of a library, also watched); nan (the step from which on some
// values are not finite); when (the condition); notes and findings (their numbers); runs (rows in the table of runs);
// rename (a:b,c:d, replaces names).
import { FakeKernel } from "./fake_kernel.js";

const options = new URLSearchParams(location.hash.slice(1));
const option = (name, otherwise) => options.get(name) ?? otherwise;
/** JupyterLab's dark high-contrast theme. */
const CONTRAST = {
  "layout-color1": "#111",
  "ui-font-color1": "#fff",
  "border-color2": "#e0e0e0",
  "brand-color1": "#319bf2",
  "warn-color1": "#ff9800",
  "error-color1": "#f44336",
  "success-color1": "#4caf50",
};
const theme = option("theme", "light");
document.body.dataset.jpThemeLight = String(theme === "light");
if (theme === "contrast")
  for (const [name, value] of Object.entries(CONTRAST)) document.body.style.setProperty(`--jp-${name}`, value);

const panel = (await import("../../jax_debug_widgets/static/panel.js")).default;
const kernel = new FakeKernel("demo", {
  rate: Number(option("rate", 200)),
  seconds: Number(option("seconds", 4)),
  state: option("state", "running"),
  calls: Number(option("calls", 1)),
  notes: Number(option("notes", 0)),
  when: option("when", ""),
  runs: Number(option("runs", 0)),
  findings: Number(option("findings", 0)),
  rename: Object.fromEntries(new URLSearchParams(option("rename", "").replaceAll(":", "=").replaceAll(",", "&"))),
  watch: options.has("watch")
    ? { rate: Number(option("watch", 1)), library: Number(option("sites", 0)), nanAt: Number(option("nan", 1e9)) }
    : null,
});
panel.initialize({ model: kernel.model });
kernel.start();
if (option("stop", "")) kernel.debugger.halt(option("stop", ""));
window.kernel = kernel;
window.panelModule = panel;
window.FakeKernel = FakeKernel;

/** Measures the frames per second and the longest frame over the next `ms` milliseconds. */
window.measureFrames = (ms) =>
  new Promise((resolve) => {
    const stamps = [];
    const frame = (now) => {
      stamps.push(now);
      if (now - stamps[0] < ms) return requestAnimationFrame(frame);
      const gaps = stamps.slice(1).map((stamp, i) => stamp - stamps[i]);
      resolve({ fps: (1000 * gaps.length) / (now - stamps[0]), longest: Math.max(...gaps) });
    };
    requestAnimationFrame(frame);
  });

const tab = option("tab", "");
const live = () => document.querySelector("[data-jaxdebug-run] > div")?.shadowRoot;
const openTab = () => {
  const button = live()?.querySelector(`#tab-${tab}`);
  if (button) button.click();
  else requestAnimationFrame(openTab);
};
if (tab) openTab();
