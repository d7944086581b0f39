import { describe, expect, it, vi } from "vitest";
import { FakeNotebook, FakeOutputs, FakeTracker, row } from "../test/fakes";
import { ended, Saved } from "./saved";

const picture = (key: string, number: number, state = "Was running when saved") =>
  `<div data-jaxdebug-run="${key}" data-jaxdebug-saved="${number}"><b data-jaxdebug-part="state">${state}</b>` +
  `<span data-jaxdebug-part="numbers">0 prints</span><div data-jaxdebug-part="lines">Nothing.</div></div><script>1</script>`;

function notebook(...htmls: string[]) {
  const outputs = htmls.map(
    (html) =>
      new FakeOutputs([
        {
          data: {
            "text/html": html,
            "text/plain": "jaxdebug: f() — was running when saved, after 1.00 s, 0 prints, effects pending",
          },
        },
      ]),
  );
  const one = new FakeNotebook("one.ipynb");
  one.context.model.cells.push({ type: "markdown", outputs: new FakeOutputs([]) });
  for (const each of outputs) one.context.model.cells.push({ type: "code", outputs: each });
  const html = (i: number) => outputs[i]?.all[0]?.data["text/html"];
  return { saved: new Saved(new FakeTracker([one]).tracker), outputs, html, one };
}

describe("an output", () => {
  it("is requested if the kernel has written it since, once a picture", () => {
    const { saved } = notebook(picture("a", 1), picture("b", 4));
    const ask = vi.fn();
    saved.compare([row("a", { saved: 2 }), row("b", { saved: 4 }), row("elsewhere", { saved: 9 })], ask);
    saved.compare([row("a", { saved: 2 })], ask);
    expect(ask.mock.calls).toEqual([["a"]]);
    saved.compare([row("a", { saved: 3 })], ask);
    expect(ask).toHaveBeenCalledTimes(2);
    saved.opened();
    saved.compare([row("a", { saved: 3 })], ask);
    expect(ask).toHaveBeenCalledTimes(3);
  });

  it("is written if it is older, and is otherwise what it was", () => {
    const { saved, outputs, html } = notebook(picture("a", 1), picture("a", 3), picture("b", 1));
    const data = { "text/html": picture("a", 2, "Done"), "text/plain": "jaxdebug: f() — done" };
    saved.write({ type: "saved", version: 1, run: "a", data });
    expect([html(0), html(1), html(2)]).toEqual([picture("a", 2, "Done"), picture("a", 3), picture("b", 1)]);
    expect(outputs[0]?.all[0]).toMatchObject({ output_type: "display_data", data });
  });

  it.each(["running", "waiting", "paused"] as const)(
    "is marked as ended with its kernel if its run was %s",
    (state) => {
      const { saved, html, outputs } = notebook(picture("a", 1), picture("b", 1, "Done"));
      saved.end([row("a", { state, events: 12, elapsed: 3.5 }), row("b", { state: "done" })]);
      expect(html(0)).toContain("Kernel gone");
      expect(html(0)).toContain("12 prints and values · 3.50 s");
      expect(html(1)).toBe(picture("b", 1, "Done"));
      expect(outputs[0]?.all[0]?.data["text/plain"]).toBe(
        "jaxdebug: f() — kernel gone after 3.50 s, 12 prints and values",
      );
    },
  );

  it("is left as it is in a notebook that cannot be written, or is closed", () => {
    for (const close of [true, false]) {
      const { saved, html, one } = notebook(picture("a", 1));
      if (close) one.isDisposed = true;
      else one.context.model.readOnly = true;
      saved.end([row("a")]);
      expect(html(0)).toBe(picture("a", 1));
    }
  });
});

it("a saved output ends with the lines that the page has seen, as text", () => {
  const lines = ["0  loss 1  In [1]:2", "1  <img src=x onerror=alert(1)>  In [1]:2"];
  const seen = { events: 2, elapsed: 1, streams: [{ name: "Unordered", received: 2, lines }] };
  const [html, text] = ended(
    picture("a", 1),
    "jaxdebug: f() — was running when saved, after 1.00 s, 0 prints\n  more",
    seen,
  );
  expect(html).toContain("Unordered 2 · last 2");
  expect(html).toContain("&lt;img src=x");
  expect(html).not.toContain("Nothing.");
  expect(html).toContain("<script>1</script>");
  expect(text.split("\n")).toEqual([
    "jaxdebug: f() — kernel gone after 1.00 s, 2 prints and values",
    "  the rest is as the kernel had last written it:",
    "  more",
  ]);
});
