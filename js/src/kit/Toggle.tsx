/** A button that is on or off. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

interface Props {
  of: Signal<boolean>;
  name: string;
  title: string;
  children: ComponentChildren;
}

/** `name` is the test id. */
export function Toggle({ of, name, title, children }: Props) {
  const turn = () => {
    of.value = !of.value;
  };
  return (
    <button type="button" class="toggle" data-testid={name} title={title} aria-pressed={of.value} onClick={turn}>
      {children}
    </button>
  );
}
