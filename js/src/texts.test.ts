/**
 * Tests the texts of the panel: each control or an element around it has a tooltip, and no text has a word that only
 * our code uses.
 */
import { readdirSync, readFileSync } from "node:fs";
import { parseAst } from "vite";
import { expect, it } from "vitest";

const SOURCES = import.meta.dirname;
const WITH_TEXT = new Set(["title", "aria-label", "placeholder"]);
const CONTROLS = new Set(["button", "select", "input", "textarea"]);

/** Words of the code that the panel does not use; it says print, call, step (docs/panel.md). */
const OURS = /\b(fired|firing|drained|occurrence|inversions?|rec|phantom site)\b/i;
const FILES = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".tsx") && !file.endsWith(".test.tsx"),
);

interface Control {
  where: string;
  hasTitle: boolean;
}

it("every control has a text that says what it does", () => {
  const controls = FILES.flatMap(controlsIn);
  expect(controls.length).toBeGreaterThan(120);
  expect(controls.filter(({ hasTitle }) => !hasTitle).map(({ where }) => where)).toEqual([]);
});

it("texts of controls are those of docs/panel.md", () => {
  const texts = FILES.flatMap(textsIn);
  expect(texts.length).toBeGreaterThan(300);
  expect(texts.filter((text) => OURS.test(text))).toEqual([]);
});

/** Returns the text between tags, and that of tooltips and labels. */
function textsIn(file: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown, isText: boolean): void => {
    if (Array.isArray(node)) for (const one of node) visit(one, isText);
    else if (isNode(node)) {
      const isShown =
        isText || node.type === "JSXText" || (node.type === "JSXAttribute" && WITH_TEXT.has(attributeOf(node)));
      const text = node.type === "TemplateElement" ? (node.value as { raw: string }).raw : node.value;
      if (isShown && typeof text === "string" && text.trim()) found.push(text.trim());
      for (const part of Object.values(node)) visit(part, isShown && node.type !== "JSXText");
    }
  };
  visit(parseAst(readFileSync(`${SOURCES}/${file}`, "utf8"), { lang: "tsx" }), false);
  return found;
}

function controlsIn(file: string): Control[] {
  const text = readFileSync(`${SOURCES}/${file}`, "utf8");
  const found: Control[] = [];
  /** `isTitled` says whether an element around the node has a title. */
  const visit = (node: unknown, isTitled: boolean): void => {
    if (Array.isArray(node)) for (const one of node) visit(one, isTitled);
    else if (isNode(node)) {
      const hasTitle = isTitled || (node.type === "JSXElement" && attributesOf(node).some(isTitle));
      if (node.type === "JSXElement" && CONTROLS.has(nameOf(node)))
        found.push({ where: `${file}:${text.slice(0, node.start).split("\n").length}`, hasTitle });
      for (const part of Object.values(node)) visit(part, hasTitle);
    }
  };
  visit(parseAst(text, { lang: "tsx" }), false);
  return found;
}

interface Node {
  type: string;
  start: number;
  [part: string]: unknown;
}

interface Element {
  name: { name?: string };
  attributes: { type: string; name?: { name?: string } }[];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

function nameOf({ openingElement }: Node): string {
  return (openingElement as Element).name.name ?? "";
}

function attributeOf({ name }: Node): string {
  return String((name as { name?: unknown }).name);
}

function attributesOf({ openingElement }: Node): Element["attributes"] {
  return (openingElement as Element).attributes;
}

/** A spread attribute may contain a title. */
function isTitle({ type, name }: Element["attributes"][number]): boolean {
  return type === "JSXSpreadAttribute" || name?.name === "title";
}
