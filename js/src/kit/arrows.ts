/** The arrow keys, to move in a picture. */
const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** How many rows and columns a key moves; undefined, and left to others, if it is no arrow. */
export function arrowMove(event: KeyboardEvent): readonly [number, number] | undefined {
  const move = MOVES[event.key];
  if (move) {
    event.preventDefault();
    event.stopPropagation();
  }
  return move;
}
