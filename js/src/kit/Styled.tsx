/** A text in the colours that its program gave it by escape codes. */
import type { Piece } from "./ansi";

export function Styled({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map((piece, i) =>
        piece.class || piece.style ? (
          <span key={i} class={piece.class} style={piece.style}>
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}
