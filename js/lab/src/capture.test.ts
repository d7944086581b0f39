import { expect, it } from "vitest";
import { toggleMagic } from "./capture";

it.each([
  ["f(x)", "%%jaxdebug\nf(x)"],
  ["%%jaxdebug\nf(x)", "f(x)"],
  ["%%jaxdebug --timeout 3\nf(x)\ng(x)", "f(x)\ng(x)"],
  ["%%jaxdebugger\nf(x)", "%%jaxdebug\n%%jaxdebugger\nf(x)"],
  ["", "%%jaxdebug\n"],
])("the magic is put on the first line, and taken off again: %j", (before, after) => {
  expect(toggleMagic(before)).toBe(after);
});
