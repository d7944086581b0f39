/** What the kernel, or this page, wants said about the run. */
interface Props {
  problem: string;
  notes: readonly string[];
  /** The kernel went away while the run was going on. */
  lost: boolean;
}

export function Notes({ problem, notes, lost }: Props) {
  if (!problem && !lost && notes.length === 0) return null;
  return (
    <ul class="notes" data-testid="notes">
      {lost && <li>The kernel is gone. What had arrived is still here; run the cell again for the rest.</li>}
      {problem && <li class="bad-text">{problem}</li>}
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
