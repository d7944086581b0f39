/** Where a front end puts an output elsewhere on the page, elements stay and the browser forgets how far they were scrolled. */
import type { FunctionComponent } from "preact";

const NAME = "jaxdebug-place";

class Place extends HTMLElement {
  moved = () => {};

  connectedCallback(): void {
    this.moved();
  }
}

if (!customElements.get(NAME)) customElements.define(NAME, Place);

/** Calls `moved` when it comes to a place on the page, the first one too. */
export const Moved = NAME as unknown as FunctionComponent<{ moved: () => void }>;
