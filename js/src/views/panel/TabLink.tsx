/** Text that switches to another tab without selecting anything in it. */
import type { ComponentChildren } from "preact";
import type { Tab, UiState } from "../../store/ui";

interface Props {
  ui: UiState;
  to: Tab;
  title: string;
  children: ComponentChildren;
}

export function TabLink({ ui, to, title, children }: Props) {
  const open = () => {
    ui.tab.value = to;
  };
  return (
    <button type="button" class="link" title={title} onClick={open}>
      {children}
    </button>
  );
}
