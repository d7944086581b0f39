import { describe, expect, it } from "vitest";
import { firstLine, styled } from "./ansi";
import { plain } from "./escapes";

const ESC = "\u001b";

describe("escape codes of colours", () => {
  it("become classes for the sixteen colours, and styles for the others", () => {
    const text = `a ${ESC}[31;1mred${ESC}[0m ${ESC}[38;5;196mcube${ESC}[38;5;244mgrey${ESC}[0m${ESC}[38;2;1;2;3;44mtrue`;
    expect(styled(text).filter((piece) => piece.text.trim())).toEqual([
      { text: "a ", class: "", style: "" },
      { text: "red", class: "ansi-bold ansi-red", style: "" },
      { text: "cube", class: "", style: "color:rgb(255,0,0)" },
      { text: "grey", class: "", style: "color:rgb(128,128,128)" },
      { text: "true", class: "ansi-on-blue", style: "color:rgb(1, 2, 3)" },
    ]);
  });

  it("are left out of the plain text, as are codes that move the cursor or make links", () => {
    expect(plain(`${ESC}[2K${ESC}[1Aloss ${ESC}[32m0.1${ESC}[0m ${ESC}]8;;http://a\u0007here${ESC}]8;;\u0007`)).toBe(
      "loss 0.1 here",
    );
    expect(plain("no code [31m")).toBe("no code [31m");
  });

  it("are cut with the first line and do not count as characters", () => {
    const pieces = styled(`${ESC}[31mab${ESC}[32mcd\nef${ESC}[0m`);
    expect(firstLine(pieces, 10).map((piece) => piece.text)).toEqual(["ab", "cd"]);
    expect(firstLine(pieces, 3).map((piece) => piece.text)).toEqual(["ab", "c"]);
  });
});
