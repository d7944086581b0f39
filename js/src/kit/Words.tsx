/** Text in which parts between backticks are code. */
export function Words({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, i) =>
        i % 2 === 1 ? (
          <code key={i} class="mono">
            {part}
          </code>
        ) : (
          part
        ),
      )}
    </>
  );
}
