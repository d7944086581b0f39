/**
 * Highlights all rows that stand for the same equations as the row under the pointer; a click keeps the highlight. The
 * twin of `linked_html.py`.
 */
export function linkColumns(root: HTMLElement): () => void {
  const rows = [...root.querySelectorAll<HTMLElement>(".jd-row")];
  const numbers = new Map(rows.map((row) => [row, (row.dataset.e ?? "").split(" ").filter(Boolean)]));
  const within = new AbortController();
  let pinned: HTMLElement | null = null;

  const rowOf = (event: Event) => (event.target as Element).closest<HTMLElement>(".jd-row");
  const light = (row: HTMLElement | null) => {
    const wanted = new Set(row ? numbers.get(row) : []);
    const first = new Set<Element>();
    for (const other of rows) {
      const lit = numbers.get(other)?.some((number) => wanted.has(number)) ?? false;
      other.classList.toggle("jd-lit", lit);
      const column = other.parentElement;
      if (!lit || !pinned || !column || column === row?.parentElement || first.has(column)) continue;
      first.add(column);
      column.scrollTop = other.offsetTop - column.clientHeight / 3;
    }
  };
  const pin = (row: HTMLElement | null) => {
    pinned?.classList.remove("jd-pinned");
    pinned?.setAttribute("aria-selected", "false");
    pinned = row === pinned ? null : row;
    pinned?.classList.add("jd-pinned");
    pinned?.setAttribute("aria-selected", "true");
    light(pinned);
  };
  const beside = (row: HTMLElement, step: number) => {
    const columns = [...root.querySelectorAll(".jd-column")];
    const next = columns[columns.indexOf(row.parentElement as Element) + step];
    (next?.querySelector<HTMLElement>(".jd-lit") ?? next?.querySelector<HTMLElement>(".jd-row"))?.focus();
  };
  const listen = (name: string, handle: (event: Event) => void) =>
    root.addEventListener(name, handle, { signal: within.signal });
  for (const name of ["mouseover", "focusin"]) {
    listen(name, (event) => {
      if (!pinned) light(rowOf(event));
    });
  }
  listen("mouseleave", () => {
    if (!pinned) light(null);
  });
  listen("click", (event) => {
    const row = rowOf(event);
    row?.focus({ preventScroll: true });
    if (row) pin(row);
  });
  listen("keydown", (event) => {
    const [row, key] = [rowOf(event), (event as KeyboardEvent).key];
    if (!row) return;
    if (key === "Escape" && pinned) pin(pinned);
    else if (key === "Enter" || key === " ") pin(row);
    else if (key === "ArrowDown") (row.nextElementSibling as HTMLElement | null)?.focus();
    else if (key === "ArrowUp") (row.previousElementSibling as HTMLElement | null)?.focus();
    else if (key === "ArrowRight") beside(row, 1);
    else if (key === "ArrowLeft") beside(row, -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  for (const column of root.querySelectorAll(".jd-column")) {
    column.querySelector<HTMLElement>(".jd-row")?.setAttribute("tabindex", "0");
  }
  return () => within.abort();
}
