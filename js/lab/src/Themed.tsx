/**
 * A shadow root with the panel's style sheets, so that views look as they do in the panel. It is light or dark as the
 * page is.
 */
import { type ComponentChildren, render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Theme, watchTheme } from "../../src/kit/theme";
import themeCss from "../../src/kit/theme.raw.css";
import runsCss from "../../src/views/runs/runs.raw.css";

const HOST_CSS =
  ".themed{display:flex;height:100%;color:var(--fg);background:var(--bg);font:var(--size)/1.45 var(--ui)}:host{min-height:0}";

interface Props {
  class: string;
  children: (dark: boolean) => ComponentChildren;
}

export function Themed({ class: name, children }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [theme, setTheme] = useState<Theme | null>(null);
  const isDark = theme?.dark.value ?? false;
  useEffect(() => {
    const watched = watchTheme();
    setTheme(watched);
    const root = host.current;
    return () => {
      watched.stop();
      if (root?.shadowRoot) render(null, root.shadowRoot);
    };
  }, []);
  useLayoutEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    render(
      <>
        <style>{themeCss + runsCss + HOST_CSS}</style>
        <div class={`themed${isDark ? " dark" : ""}`}>{children(isDark)}</div>
      </>,
      root,
    );
  });
  return <div ref={host} class={name} onFocusIn={markTyping} onFocusOut={markTyping} />;
}

/** Marks the host while a name is typed. JupyterLab sees only the host and would otherwise run its shortcuts. */
function markTyping(event: FocusEvent): void {
  const [focused] = event.composedPath();
  const isTyping = event.type === "focusin" && focused instanceof HTMLInputElement && focused.type === "text";
  (event.currentTarget as HTMLElement).toggleAttribute("data-lm-suppress-shortcuts", isTyping);
}
