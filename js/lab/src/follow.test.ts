import { describe, expect, it, vi } from "vitest";
import { FakeKernel, FakeNotebook, FakeTracker, message, row } from "../test/fakes";
import { Follower } from "./follow";
import { KernelLink } from "./link";

function follow(tracker: FakeTracker) {
  const open = vi.fn(
    (kernel) =>
      new KernelLink(
        kernel,
        () => {},
        async () => undefined,
      ),
  );
  return { follower: new Follower(tracker.tracker, open), open };
}

const shown = ({ current }: Follower) => [current.value?.name, current.value?.link?.kernel.id];

describe("the notebook that is followed", () => {
  it("is the notebook that was active last", () => {
    const one = new FakeNotebook("folder/one.ipynb", new FakeKernel("1"));
    const two = new FakeNotebook("two.ipynb", new FakeKernel("2"));
    const tracker = new FakeTracker([one]);
    const { follower } = follow(tracker);
    expect(follower.current.value).toBeUndefined();
    tracker.focus(one);
    expect(shown(follower)).toEqual(["one.ipynb", "1"]);
    tracker.add(two);
    expect(shown(follower)).toEqual(["one.ipynb", "1"]);
    tracker.focus(two);
    expect(shown(follower)).toEqual(["two.ipynb", "2"]);
    tracker.focus(null);
    expect(follower.current.value).toBeUndefined();
  });

  it("keeps its link while another is looked at: no run is missed", () => {
    const one = new FakeNotebook("one.ipynb", new FakeKernel("1"));
    const two = new FakeNotebook("two.ipynb", new FakeKernel("2"));
    const tracker = new FakeTracker([one, two]);
    const { follower, open } = follow(tracker);
    expect(open).toHaveBeenCalledTimes(2);
    tracker.focus(one);
    const link = follower.current.value?.link;
    tracker.focus(two);
    tracker.focus(one);
    expect(follower.current.value?.link).toBe(link);
    expect(open).toHaveBeenCalledTimes(2);
  });

  it("gets a new link if its kernel changes, and none without a kernel", () => {
    const first = new FakeKernel("1");
    const notebook = new FakeNotebook("one.ipynb", first);
    const tracker = new FakeTracker([notebook]);
    const { follower } = follow(tracker);
    tracker.focus(notebook);
    notebook.changeKernel(new FakeKernel("2"));
    expect(shown(follower)).toEqual(["one.ipynb", "2"]);
    notebook.changeKernel(null);
    expect(shown(follower)).toEqual(["one.ipynb", undefined]);
  });

  it("gets a new link when its connection to the same kernel is a new one", () => {
    const first = new FakeKernel("1");
    const notebook = new FakeNotebook("one.ipynb", first);
    const tracker = new FakeTracker([notebook]);
    const { follower } = follow(tracker);
    tracker.focus(notebook);
    const link = follower.current.value?.link;
    first.dispose();
    notebook.changeKernel(new FakeKernel("1"));
    expect(follower.current.value?.link).toBeDefined();
    expect(follower.current.value?.link).not.toBe(link);
  });

  it("knows which of the kernels has a run", () => {
    const kernels = [new FakeKernel("1"), new FakeKernel("2")];
    const { follower } = follow(new FakeTracker(kernels.map((kernel) => new FakeNotebook("one.ipynb", kernel))));
    kernels[1]?.open().receive(message(row("a")));
    expect(follower.linkOf("a")?.kernel.id).toBe("2");
    expect(follower.linkOf("b")).toBeUndefined();
    kernels[1]?.dispose();
    expect(follower.linkOf("a")).toBeUndefined();
  });

  it("has its new name when it is renamed", () => {
    const notebook = new FakeNotebook("one.ipynb", new FakeKernel("1"));
    const tracker = new FakeTracker([notebook]);
    const { follower } = follow(tracker);
    tracker.focus(notebook);
    notebook.context.path = "better.ipynb";
    notebook.context.pathChanged.emit("better.ipynb");
    expect(shown(follower)).toEqual(["better.ipynb", "1"]);
  });
});
