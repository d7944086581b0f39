/** Renders a panel into a shadow root of `host`. */
import { render } from "preact";
import listCss from "../../kit/list.css";
import { shieldKeys } from "../../kit/shortcuts";
import { watchTheme } from "../../kit/theme";
import themeCss from "../../kit/theme.raw.css";
import type { RunStore } from "../../store/run";
import type { UiState } from "../../store/ui";
import headerCss from "../header/header.css";
import keysCss from "../keys/keys.css";
import { LaterStyle } from "../later/Later";
import lifeCss from "../life/life.css";
import overviewCss from "../overview/overview.css";
import plotsCss from "../plots/plots.css";
import scrubberCss from "../scrubber/scrubber.css";
import searchCss from "../search/search.css";
import sitesCss from "../sites/sites.css";
import streamsCss from "../streams/streams.css";
import { Panel } from "./Panel";
import panelCss from "./panel.css";

const CSS = [
  themeCss,
  listCss,
  panelCss,
  headerCss,
  lifeCss,
  searchCss,
  streamsCss,
  sitesCss,
  plotsCss,
  overviewCss,
  scrubberCss,
  keysCss,
].join("\n");

export function mountPanel(host: HTMLElement, run: RunStore, ui: UiState): () => void {
  const theme = watchTheme();
  const root = host.attachShadow({ mode: "open" });
  const unshield = shieldKeys(host);
  render(
    <>
      <style>{CSS}</style>
      <LaterStyle />
      <Panel run={run} ui={ui} dark={theme.dark} />
    </>,
    root,
  );
  return () => {
    unshield();
    theme.stop();
    render(null, root);
  };
}
