import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it } from "vitest";
import { goldenBatch } from "../../../test/golden";
import { find, show } from "../../../test/screen";

afterEach(() => localStorage.clear());

it("a new panel has the height to which the previous one was dragged", async () => {
  show(goldenBatch("small"));
  expect(find(".panel").style.height).toBe("");
  act(() => {
    find(".panel").style.height = "723px";
  });
  await Promise.resolve();
  expect(localStorage.getItem("jaxdebug-height")).toBe("723");
  const host = find(".panel").parentElement as HTMLElement;
  act(() => render(null, host));
  show(goldenBatch("small"));
  expect(find(".panel").style.height).toBe("723px");
});
