/**
 * Makes the output of a program live: replaces its picture with the views, once the kernel that wrote it has answered.
 */
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { shieldKeys } from "../../kit/shortcuts";
import { type Theme, watchTheme } from "../../kit/theme";
import themeCss from "../../kit/theme.raw.css";
import type { Ask } from "../program/scene";
import { type Asked, laterProgram } from "./load";
import { askOf } from "./program_ask";

/** When the views are shown, `done` gets a function that removes them. */
export function showProgram(output: HTMLElement, key: string, asked: Asked, done: (remove: () => void) => void): void {
  const ask = askOf(asked);
  ask("about", { key }).then(
    () => {
      const host = document.createElement("div");
      const unshield = shieldKeys(host);
      const root = host.attachShadow({ mode: "open" });
      const theme = watchTheme();
      const picture = [...output.children].filter((child): child is HTMLElement => child instanceof HTMLElement);
      const hide = () => {
        for (const child of picture) child.hidden = true;
      };
      output.append(host);
      render(<Output program={key} ask={ask} asked={asked} theme={theme} hide={hide} />, root);
      done(() => {
        unshield();
        theme.stop();
        render(null, root);
        host.remove();
        for (const child of picture) child.hidden = false;
      });
    },
    () => {}, // The output is of another kernel: it keeps its picture.
  );
}

interface Props {
  program: string;
  ask: Ask;
  asked: Asked;
  theme: Theme;
  hide: () => void;
}

function Output({ program, ask, asked, theme, hide }: Props) {
  const { views } = laterProgram;
  useEffect(() => laterProgram.want(asked), [asked]);
  useEffect(() => {
    if (views) hide();
  }, [views, hide]);
  if (!views?.Program) return null;
  return (
    <>
      <style>
        {themeCss}
        {views.css}
      </style>
      <div class={`themed alone${theme.dark.value ? " dark" : ""}`}>
        <views.Program ask={ask} program={program} />
      </div>
    </>
  );
}
