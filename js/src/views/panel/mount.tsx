/** Puts a panel into a shadow root on `host`. */
import { render } from "preact";
import uplotCss from "uplot/dist/uPlot.min.css";
import listCss from "../../kit/list.css";
import { watchTheme } from "../../kit/theme";
import themeCss from "../../kit/theme.css";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import callsCss from "../calls/calls.css";
import headerCss from "../header/header.css";
import lifeCss from "../life/life.css";
import plotsCss from "../plots/plots.css";
import sitesCss from "../sites/sites.css";
import streamsCss from "../streams/streams.css";
import { Panel } from "./Panel";
import panelCss from "./panel.css";

const CSS = [uplotCss, themeCss, listCss, panelCss, headerCss, lifeCss, streamsCss, sitesCss, plotsCss, callsCss].join(
  "\n",
);

export function mountPanel(host: HTMLElement, run: RunStore, ui: UiState): () => void {
  const theme = watchTheme();
  const root = host.attachShadow({ mode: "open" });
  // JupyterLab sees only the host: without this, typing in the filter would run the notebook's shortcuts.
  host.dataset.lmSuppressShortcuts = "true";
  render(
    <>
      <style>{CSS}</style>
      <Panel run={run} ui={ui} dark={theme.dark} />
    </>,
    root,
  );
  return () => {
    theme.stop();
    render(null, root);
  };
}
