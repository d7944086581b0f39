/** The views as widgets of JupyterLab's shell. */
import { Widget } from "@lumino/widgets";
import { type ComponentChild, render } from "preact";
import { icon } from "./icon";
import { type FindLink, openRun } from "./RunOutput";

/** A Preact view, rendered while the widget is attached. */
export class ViewWidget extends Widget {
  constructor(private readonly view: () => ComponentChild) {
    super();
  }

  protected override onAfterAttach(): void {
    render(this.view(), this.node);
  }

  protected override onBeforeDetach(): void {
    render(null, this.node);
  }
}

/** The side panel in the shell. */
export class SidePanelWidget extends ViewWidget {
  constructor(view: () => ComponentChild) {
    super(view);
    this.id = "jax-debug-runs";
    this.addClass("jaxdebug-SidePanel");
    this.title.icon = icon;
    this.title.caption = "JAX debug";
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", "JAX debug");
  }
}

/** The panel of a run in the main area. */
export class RunWidget extends Widget {
  private takeAway: (() => void) | undefined;

  constructor(
    readonly runKey: string,
    title: string,
    private readonly findLink: FindLink,
  ) {
    super();
    this.id = `jax-debug-run-${runKey}`;
    this.addClass("jaxdebug-RunWidget");
    this.title.label = title;
    this.title.caption = `JAX debug: ${title}`;
    this.title.closable = true;
    this.node.tabIndex = -1;
  }

  protected override onAfterAttach(): void {
    this.takeAway = openRun(this.node, this.runKey, this.findLink);
  }

  protected override onBeforeDetach(): void {
    this.takeAway?.();
    this.takeAway = undefined;
  }

  protected override onActivateRequest(): void {
    this.node.focus();
  }

  protected override onCloseRequest(): void {
    this.dispose();
  }
}
