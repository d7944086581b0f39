/** Moves in a picture with the arrow keys. */
const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Returns how many rows and columns an arrow key moves. Returns undefined for other keys, which are passed on. */
export function arrowMove(event: KeyboardEvent): readonly [number, number] | undefined {
  const move = MOVES[event.key];
  if (move) {
    event.preventDefault();
    event.stopPropagation();
  }
  return move;
}
