/** Keeps what a view loses when it is moved on the page: the scroll positions of its parts and the focus. */
export class Place {
  private readonly scrolled = new Map<Element, [top: number, left: number]>();
  private focused: HTMLElement | undefined;

  constructor(private readonly root: ShadowRoot | HTMLElement) {
    const options = { capture: true, passive: true };
    root.addEventListener("scroll", ({ target }) => target instanceof Element && this.noteScroll(target), options);
    root.addEventListener("focusin", ({ target }) => {
      this.focused = target instanceof HTMLElement ? target : undefined;
    });
    root.addEventListener("focusout", ({ target }) => {
      // Moving the view also blurs the element, and `restore` focuses it again before this runs.
      setTimeout(() => {
        if (this.focused === target && !this.has(target as HTMLElement)) this.focused = undefined;
      });
    });
  }

  /** Restores scroll positions and focus after the view was moved. */
  restore(): void {
    for (const [part, [top, left]] of this.scrolled) {
      if (part.isConnected) [part.scrollTop, part.scrollLeft] = [top, left];
      else this.scrolled.delete(part);
    }
    const nobodyElse = document.activeElement === null || document.activeElement === document.body;
    if (nobodyElse && this.focused?.isConnected) this.focused.focus({ preventScroll: true });
  }

  private noteScroll(part: Element): void {
    this.scrolled.set(part, [part.scrollTop, part.scrollLeft]);
  }

  private has(element: HTMLElement): boolean {
    const { root } = this;
    return (root instanceof ShadowRoot ? root.activeElement : document.activeElement) === element;
  }
}
