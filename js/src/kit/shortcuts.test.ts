import { expect, it } from "vitest";
import { shieldKeys } from "./shortcuts";

function shielded() {
  const host = document.body.appendChild(document.createElement("div"));
  const root = host.attachShadow({ mode: "open" });
  const tab = root.appendChild(document.createElement("button"));
  const field = root.appendChild(document.createElement("input"));
  const end = shieldKeys(host);
  let seen: boolean | null = null;
  const look = () => {
    seen = host.hasAttribute("data-lm-suppress-shortcuts");
  };
  document.addEventListener("keydown", look, true);
  const press = (at: Element, code: string, held: KeyboardEventInit = {}) => {
    at.dispatchEvent(new KeyboardEvent("keydown", { code, bubbles: true, composed: true, ...held }));
    return seen;
  };
  const done = () => {
    end();
    document.removeEventListener("keydown", look, true);
    host.remove();
  };
  return { host, tab, field, press, done };
}

it("shieldKeys lets only the keys of JupyterLab's commands reach the page", () => {
  const { host, tab, field, press, done } = shielded();
  expect(host.hasAttribute("data-lm-suppress-shortcuts")).toBe(true);
  expect(press(tab, "KeyJ", { altKey: true })).toBe(false);
  expect(press(tab, "KeyM")).toBe(true);
  expect(press(tab, "KeyS", { ctrlKey: true })).toBe(false);
  expect(press(field, "KeyC", { ctrlKey: true, shiftKey: true })).toBe(false);
  for (const code of ["KeyC", "KeyZ", "KeyA", "Enter"]) expect(press(tab, code, { ctrlKey: true })).toBe(true);
  expect(press(tab, "Enter", { altKey: true })).toBe(true);
  expect(press(field, "KeyJ", { altKey: true })).toBe(true);
  done();
});
