/** What the kernel, or this page, wants said about the run. */
interface Props {
  problem: string;
  notes: readonly string[];
}

export function Notes({ problem, notes }: Props) {
  if (!problem && notes.length === 0) return null;
  return (
    <ul class="notes" data-testid="notes">
      {problem && <li class="bad-text">{problem}</li>}
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
