import { render } from "preact";
import { useRef } from "preact/hooks";
import { act } from "preact/test-utils";
import { expect, it, vi } from "vitest";
import { Moved } from "./moved";
import { useScrolled } from "./scrolled";
import { useSize } from "./size";

function List({ isEmpty }: { isEmpty: boolean }) {
  const viewport = useRef<HTMLDivElement>(null);
  const { height } = useSize(viewport);
  const { top, setTop, stay } = useScrolled(viewport, height);
  if (isEmpty) return <p />;
  return (
    <div ref={viewport} data-seen={`${height} at ${top}`} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <Moved moved={stay} />
    </div>
  );
}

const host = document.createElement("div");
const drawn = (isEmpty: boolean) => act(() => render(<List isEmpty={isEmpty} />, host));
const list = () => host.firstElementChild as HTMLElement;

it("useScrolled measures a list that is added after its view, and restores a forgotten scroll position", () => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(220);
  document.body.append(host);
  drawn(true);
  drawn(false);
  expect(list().dataset.seen).toBe("220 at 0");
  act(() => {
    list().scrollTop = 44;
    list().dispatchEvent(new Event("scroll"));
  });
  expect(list().dataset.seen).toBe("220 at 44");
  list().scrollTop = 0;
  host.remove();
  document.body.append(host);
  expect(list().scrollTop).toBe(44);
  host.remove();
});
