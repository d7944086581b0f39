/** A section of the inspector. It can be folded, and stays folded for other values. */
import type { ComponentChildren } from "preact";
import { toggled, type UiState } from "../../store/ui";

interface Props {
  ui: UiState;
  name: string;
  /** Text beside the name, such as the step. */
  about?: ComponentChildren;
  /** Buttons beside the name. */
  tools?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ ui, name, about, tools, children }: Props) {
  const key = `section ${name}`;
  const isOpen = !ui.folded.value.has(key);
  return (
    <section class="section" data-testid={`section-${name.toLowerCase().replaceAll(" ", "-")}`}>
      <header>
        <button
          type="button"
          class="section-name"
          aria-expanded={isOpen}
          title={isOpen ? "Fold it" : "Open it"}
          onClick={() => {
            ui.folded.value = toggled(ui.folded.value, key);
          }}
        >
          <span class="fold" />
          {name}
        </button>
        {about && <span class="muted about">{about}</span>}
        <span class="grow" />
        {isOpen && tools}
      </header>
      {isOpen && children}
    </section>
  );
}
