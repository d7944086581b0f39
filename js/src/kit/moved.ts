/**
 * Detects that an element was moved on the page. When a front end moves an output, the browser forgets the scroll
 * positions in it.
 */
import type { FunctionComponent } from "preact";

const NAME = "jaxdebug-place";

class Place extends HTMLElement {
  moved = () => {};

  connectedCallback(): void {
    this.moved();
  }
}

if (!customElements.get(NAME)) customElements.define(NAME, Place);

/** Calls `moved` whenever it is inserted into the page, also the first time. */
export const Moved = NAME as unknown as FunctionComponent<{ moved: () => void }>;
