/** Text in the colours that its escape codes give it; plain until the bundle that parses them is loaded. */
import { useEffect } from "preact/hooks";
import { plain } from "../../kit/escapes";
import type { RunStore } from "../../store/run";
import { laterLines } from "../later/load";

interface Props {
  run: RunStore;
  text: string;
  /** Shows only the first line, cut after this many characters. If absent, all of the text is shown. */
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
