import { type Signal, signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it } from "vitest";
import { Program } from "./Program";
import type { Ask, Scene } from "./scene";

const hosts: HTMLElement[] = [];
afterEach(() => {
  for (const host of hosts.splice(0)) {
    render(null, host);
    host.remove();
  }
});

const BOX = {
  side: "forward",
  open: false,
  opens: true,
  what: "",
  detail: ":3 · f32[]",
  type: "float32[]",
  source: "a.py:3",
  parent: 0,
  count: 2,
  tone: "role-forward",
  tooltip: "forward",
  lit: true,
} as const;
const SCENE: Scene = {
  width: 300,
  height: 200,
  opened: [0],
  boxes: [
    { ...BOX, box: 0, at: [0, 0, 300, 200], open: true, title: "step", parent: -1 },
    { ...BOX, box: 1, at: [12, 26, 176, 36], title: "h" },
    { ...BOX, box: 2, at: [12, 80, 176, 36], title: "loss", opens: false },
  ],
  wires: [
    { start: 1, end: 2, points: [100, 62, 100, 80], shown: true, description: "float32[]" },
    { start: 1, end: 2, points: [12, 44, 4, 44, 4, 98, 12, 98], shown: false, description: "float32[2]" },
  ],
  legend: [["role-forward", "forward"]],
  colours: ["role", "dtype"],
  description: "",
  spoilt: 0,
  found: [],
  shown: null,
};
const ABOUT = { key: "p1", name: "step", first: "graph", equations: 4, has_diff: false };

/** Shows a program whose kernel answers with `SCENE`. `asked` collects the requests. */
async function show(answers: Record<string, unknown> = {}, call?: Signal<number | null>, newest?: number) {
  const asked: [string, object | undefined][] = [];
  const known: Record<string, unknown> = {
    about: ABOUT,
    programs: { programs: [ABOUT] },
    scene: SCENE,
    source: { label: "a.py", first: 2, line: 3, lines: ["def f(x):", "  h = x"] },
    html: { html: "<table><tr><td>row</td></tr></table>", by: "line" },
    ...answers,
  };
  const ask = ((what: string, body?: object) => {
    asked.push([what, body]);
    const answer = known[what];
    if (answer instanceof Error) return Promise.reject(answer);
    return Promise.resolve(typeof answer === "function" ? answer(body) : answer);
  }) as Ask;
  const host = document.createElement("div");
  hosts.push(host);
  document.body.append(host);
  await act(async () => render(<Program ask={ask} {...(call ? { call, newest } : { program: "p1" })} />, host));
  await act(async () => {});
  await act(async () => {});
  const find = (selector: string) => host.querySelector<HTMLElement>(selector) as HTMLElement;
  return { host, asked, find, of: (title: string) => find(`[data-title="${title}"]`) };
}

const press = (element: HTMLElement, event: Event) =>
  act(async () => {
    element.dispatchEvent(event);
  });
/** Waits for the answers to requests that were made after drawing. */
const settled = () => act(async () => {});

it("Enter opens a box and requests the scene with it open", async () => {
  const { asked, of, find } = await show();
  await press(of("h"), new MouseEvent("click", { bubbles: true }));
  await press(find("svg"), new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  expect(asked.filter(([what]) => what === "scene").at(-1)?.[1]).toMatchObject({ opened: [0, 1], key: "p1" });
});

it("the view of a program shows the line of the chosen box, and wires that did not fit", async () => {
  const { host, of, find } = await show();
  expect(host.querySelectorAll(".wire")).toHaveLength(1);
  await press(of("h"), new MouseEvent("click", { bubbles: true }));
  await settled();
  expect(find(".here").textContent).toContain("h = x");
  expect(host.querySelectorAll(".wire.hot")).toHaveLength(2);
});

it("the view of a program follows a value, and shows everything again", async () => {
  const { asked, of, find } = await show();
  await press(of("loss"), new MouseEvent("click", { bubbles: true }));
  await act(async () => find("[data-testid=way-dtype]").click());
  expect(find("[data-testid=way-dtype]").textContent).toBe("why float32?");
  expect(asked.at(-1)?.[1]).toMatchObject({ way: "dtype", box: 2, side: "forward", opened: [0] });
  await act(async () => find("[data-testid=way-dtype]").click());
  expect(asked.at(-1)?.[1]).toMatchObject({ way: "" });
});

it("the view of a program has the table, and says why a view is not available", async () => {
  const { find } = await show();
  await act(async () => find("[data-testid=program-table]").click());
  await settled();
  expect(find("[data-testid=view-table]").textContent).toBe("row");
  expect(find("[data-testid=program-diff]")).toBeNull();
  const failed = await show({ about: new Error("This program is gone: run the cell again.") });
  expect(failed.find("[role=alert]").textContent).toBe("This program is gone: run the cell again.");
});

it("each control of a program has a tooltip", async () => {
  const { host, of, find } = await show();
  await press(of("loss"), new MouseEvent("click", { bubbles: true }));
  await act(async () => find("[data-testid=way-dtype]").click());
  const bare = () =>
    [...host.querySelectorAll("button, select, input")]
      .filter((one) => !one.closest("[title]"))
      .map((one) => one.outerHTML);
  expect(bare()).toEqual([]);
  await act(async () => find("[data-testid=program-table]").click());
  await settled();
  expect(bare()).toEqual([]);
});

it("the view of a program shows the programs traced for a call, or why there are none", async () => {
  const call = signal<number | null>(3);
  const { asked, find } = await show({ call: { programs: [ABOUT], description: "traced once in this run" } }, call);
  expect(asked[0]).toEqual(["call", { call: 3 }]);
  expect(find(".tools").textContent).toContain("4 equations; traced once in this run");
  await act(async () => find("[data-testid=other-programs]").click());
  await settled();
  expect(asked.some(([what]) => what === "programs")).toBe(true);
  expect(find(".tools").textContent).toContain("4 equations; nothing has run");
  const gone = await show({ call: new Error("It is no longer kept.") }, signal<number | null>(0));
  expect(gone.find("[role=alert]").textContent).toBe("It is no longer kept.");
  await act(async () => gone.find("[data-testid=other-programs]").click());
  await settled();
  await settled();
  expect(gone.find("[data-testid=graph]")).not.toBeNull();
});

it("where no program has been shown, that of the newest call is one click away", async () => {
  const call = signal<number | null>(null);
  const { asked, find } = await show(
    { programs: { programs: [] }, call: { programs: [ABOUT], description: "" } },
    call,
    7,
  );
  expect(find("[data-testid=no-program]").textContent).toContain("No program has been shown yet");
  await press(find("[data-testid=program-of-newest]"), new MouseEvent("click", { bubbles: true }));
  await settled();
  expect(asked[1]).toEqual(["call", { call: 7 }]);
  expect(find("[data-testid=program]")).not.toBeNull();
});

it("the view of a program follows a NaN to the outputs", async () => {
  const none = await show();
  expect(none.find('[data-testid="way-nan"]')).toBeNull();
  const { asked, find } = await show({ scene: { ...SCENE, spoilt: 2 } });
  await press(find('[data-testid="way-nan"]'), new MouseEvent("click", { bubbles: true }));
  expect(asked.filter(([what]) => what === "scene").at(-1)?.[1]).toMatchObject({ way: "nan" });
});

it("the search in a program jumps to a match, also if Enter comes before the matches", async () => {
  const late: ((answer: Scene) => void)[] = [];
  const matches = (...equations: number[]) =>
    equations.map((equation) => ({ equation, name: "h", primitive: "mul", source: "a.py:3", at: 1 }));
  const answer = ({ find }: { find: string }) =>
    find ? new Promise<Scene>((arrive) => late.push(arrive)) : { ...SCENE, found: matches(1, 2) };
  const { asked, find } = await show({ scene: answer });
  const latest = () => asked.filter(([what]) => what === "scene").at(-1)?.[1];
  const search = find("[data-testid=find]") as HTMLInputElement;
  for (const [letters, shift, equation] of [
    ["h", false, 7],
    ["hi", true, 9],
  ] as const) {
    search.value = letters;
    await press(search, new Event("input", { bubbles: true }));
    await press(search, new KeyboardEvent("keydown", { key: "Enter", shiftKey: shift, bubbles: true }));
    expect(latest()).toMatchObject({ find: letters, reveal: null });
    await act(async () => late.at(-1)?.({ ...SCENE, found: matches(7, 8, 9) }));
    expect(latest()).toMatchObject({ find: letters, reveal: equation });
    await act(async () => late.at(-1)?.({ ...SCENE, found: matches(7, 8, 9) }));
  }
  await act(async () => find("[data-testid=next]").click());
  expect(latest()).toMatchObject({ reveal: 7 });
});

it("several programs are listed by name and size, and equal ones by a number", async () => {
  const other = { ...ABOUT, key: "p2", equations: 1 };
  const again = { ...ABOUT, key: "p3" };
  const text = { ...ABOUT, key: "p4", name: "hlo of f", equations: 0 };
  const { host } = await show(
    { call: { programs: [ABOUT, other, again, text], description: "" } },
    signal<number | null>(1),
  );
  const words = [...host.querySelectorAll("[data-testid=which-program] option")].map((one) => one.textContent);
  expect(words).toEqual(["step · 4 equations", "step · 1 equation", "step · 4 equations (2)", "hlo of f"]);
});
