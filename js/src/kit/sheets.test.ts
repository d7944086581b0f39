import { describe, expect, it } from "vitest";
import { clashes, classesOf } from "../../sheets.mjs";

describe("style sheets of bundles that share a page", () => {
  it("may not define one class twice", () => {
    expect([...classesOf(".a,.b{x:y}.c .d{x:y}.e:hover{x:y}@media print{.f{x:y}}")]).toEqual(["a", "b", "f"]);
    expect(clashes({ first: [".a{x:y}", ".b .c{x:y}"], later: [".c{x:y}", ".b .a{x:y}"] })).toEqual([]);
    expect(clashes({ first: [".a{x:y}"], later: [".c{x:y}.a{x:z}"] })).toHaveLength(1);
  });
});
