/** Each button, field and choice of the panel has a tooltip: its own, or that of what it stands in. */
import { readdirSync, readFileSync } from "node:fs";
import { parseAst } from "vite";
import { expect, it } from "vitest";

const SOURCES = import.meta.dirname;
const CONTROLS = new Set(["button", "select", "input", "textarea"]);

interface Control {
  where: string;
  hasTitle: boolean;
}

it("says of each control what it does", () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" });
  const controls = files.filter((file) => file.endsWith(".tsx") && !file.endsWith(".test.tsx")).flatMap(controlsIn);
  expect(controls.length).toBeGreaterThan(120);
  expect(controls.filter(({ hasTitle }) => !hasTitle).map(({ where }) => where)).toEqual([]);
});

function controlsIn(file: string): Control[] {
  const text = readFileSync(`${SOURCES}/${file}`, "utf8");
  const found: Control[] = [];
  /** `isTold`: an element around it has a title. */
  const visit = (node: unknown, isTold: boolean): void => {
    if (Array.isArray(node)) for (const one of node) visit(one, isTold);
    else if (isNode(node)) {
      const hasTitle = isTold || (node.type === "JSXElement" && attributesOf(node).some(isTitle));
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

function attributesOf({ openingElement }: Node): Element["attributes"] {
  return (openingElement as Element).attributes;
}

/** A spread may bring one. */
function isTitle({ type, name }: Element["attributes"][number]): boolean {
  return type === "JSXSpreadAttribute" || name?.name === "title";
}
