import { expect, it } from "vitest";
import { cut, keyOf, neighbour, type SceneBox, titleOf } from "./scene";

function box(number: number, side: "forward" | "backward", x: number, y: number): SceneBox {
  return {
    box: number,
    side,
    at: [x, y, 176, 36],
    open: false,
    opens: false,
    title: `b${number}`,
    what: "",
    detail: "",
    type: "float32[]",
    source: "",
    parent: 0,
    count: 1,
    tone: "",
    tooltip: "",
    lit: true,
  };
}

const BOXES = [
  box(1, "forward", 0, 0),
  box(1, "backward", 300, 0),
  box(2, "forward", 0, 54),
  box(2, "backward", 300, 54),
  box(3, "forward", 12, 108),
];
const at = (number: number, side: "forward" | "backward") =>
  BOXES.find((one) => one.box === number && one.side === side) as SceneBox;
const goes = (from: SceneBox, key: string) => {
  const next = neighbour(BOXES, from, key);
  return next && keyOf(next);
};

it("arrow keys move along a column, and to the other half of a line", () => {
  expect(goes(at(1, "forward"), "ArrowDown")).toBe("2:forward");
  expect(goes(at(2, "forward"), "ArrowDown")).toBe("3:forward");
  expect(goes(at(2, "backward"), "ArrowUp")).toBe("1:backward");
  expect(goes(at(2, "forward"), "ArrowRight")).toBe("2:backward");
  expect(goes(at(2, "backward"), "ArrowLeft")).toBe("2:forward");
});

it("arrow keys stay at the ends, and other keys do nothing", () => {
  expect(goes(at(3, "forward"), "ArrowDown")).toBeUndefined();
  expect(goes(at(3, "forward"), "ArrowRight")).toBeUndefined();
  expect(goes(at(1, "forward"), "a")).toBeUndefined();
});

it("the label of a box names the derivative, and is cut to fit", () => {
  expect(titleOf(at(2, "backward"))).toBe("∂ b2");
  expect(titleOf({ ...at(2, "backward"), open: true })).toBe("b2");
  expect(cut("broadcast_in_dim", 10)).toBe("broadcast…");
});
