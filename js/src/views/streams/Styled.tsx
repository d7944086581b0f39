/** A text in the colours that its program gave it by escape codes; plain until what reads them is here. */
import { useEffect } from "preact/hooks";
import { plain } from "../../kit/escapes";
import type { RunStore } from "../../store/run";
import { laterLines } from "../later/load";

interface Props {
  run: RunStore;
  text: string;
  /** Of the first line so many characters; all, where it is not there. */
  most?: number;
}

export function Styled({ run, text, most }: Props) {
  useEffect(() => laterLines.want(run), [run]);
  const { styled, firstLine } = laterLines.views ?? {};
  if (!styled || !firstLine) return <>{most ? plain(text).split("\n", 1)[0]?.slice(0, most) : plain(text)}</>;
  const pieces = styled(text);
  return (
    <>
      {(most ? firstLine(pieces, most) : pieces).map((piece, i) =>
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
