/**
 * The kernel's answers about a program (`ProgramViews.answer`, `scene_data.py`), and the movement between boxes by
 * arrow keys.
 */
export type Side = "forward" | "backward";

export interface SceneBox {
  box: number;
  side: Side;
  at: [x: number, y: number, width: number, height: number];
  open: boolean;
  /** Whether the box contains boxes. */
  opens: boolean;
  title: string;
  what: string;
  detail: string;
  type: string;
  source: string;
  parent: number;
  count: number;
  tone: string;
  tooltip: string;
  lit: boolean;
}

export interface SceneWire {
  start: number;
  end: number;
  points: number[];
  shown: boolean;
  description: string;
}

export interface Found {
  equation: number;
  name: string;
  primitive: string;
  source: string;
  at: number | null;
}

export interface Scene {
  width: number;
  height: number;
  opened: number[];
  boxes: SceneBox[];
  wires: SceneWire[];
  legend: [tone: string, words: string][];
  colours: string[];
  description: string;
  /** The number of equations that made a NaN or infinity in the newest run. */
  spoilt: number;
  found: Found[];
  /** The index of the box with the requested equation; null if there is none. */
  shown: number | null;
}

export interface Excerpt {
  label: string;
  first: number;
  line: number;
  lines: string[];
}

export interface About {
  key: string;
  name: string;
  first: View;
  equations: number;
  has_diff: boolean;
}

export type View = "table" | "linked" | "graph" | "diff";

/** Sends a request to the kernel. A problem rejects the promise with an error. */
export type Ask = <Answer>(what: string, body?: object) => Promise<Answer>;

export const keyOf = ({ box, side }: { box: number; side: Side }): string => `${box}:${side}`;

/** Returns the title of a box, with `∂` for the derivative of a line. */
export function titleOf({ title, side, open }: SceneBox): string {
  return side === "backward" && !open ? `∂ ${title}` : title;
}

export function cut(words: string, most: number): string {
  return words.length <= most ? words : `${words.slice(0, Math.max(1, most - 1))}…`;
}

/** Returns the box in the direction of an arrow key: the next in its column, or the other half of its line. */
export function neighbour(boxes: readonly SceneBox[], from: SceneBox, key: string): SceneBox | undefined {
  const middle = ({ at: [x, y, width] }: SceneBox) => [x + width / 2, y] as const;
  const [x, y] = middle(from);
  const others = boxes.filter((box) => box !== from);
  const nearest = (fits: (dx: number, dy: number) => boolean, cost: (dx: number, dy: number) => number) => {
    let [best, least]: [SceneBox | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
    for (const other of others) {
      const [otherX, otherY] = middle(other);
      const [dx, dy] = [otherX - x, otherY - y];
      if (fits(dx, dy) && cost(dx, dy) < least) [best, least] = [other, cost(dx, dy)];
    }
    return best;
  };
  const along = (sign: number) =>
    nearest(
      (_dx, dy) => dy * sign > 0,
      (dx, dy) => Math.abs(dy) + Math.abs(dx) / 4,
    );
  const across = (sign: number) =>
    nearest(
      (dx, dy) => dx * sign > 0 && Math.abs(dy) < 24,
      (dx, dy) => Math.abs(dx) + 4 * Math.abs(dy),
    );
  switch (key) {
    case "ArrowDown":
      return along(1);
    case "ArrowUp":
      return along(-1);
    case "ArrowRight":
      return across(1);
    case "ArrowLeft":
      return across(-1);
    default:
      return undefined;
  }
}
