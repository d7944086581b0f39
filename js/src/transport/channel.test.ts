import { expect, it } from "vitest";
import { Channel } from "./channel";
import type { Message, Request } from "./wire";

it("the channel gives each answer to its request, once", () => {
  const sent: Request[] = [];
  const channel = new Channel((request) => sent.push(request));
  const answers: string[] = [];
  channel.request({ type: "barrier", run: "a" }, (message) => answers.push(`barrier ${message.type}`));
  channel.request({ type: "rows", run: "a", first: 0, count: 200 }, (message) => answers.push(`rows ${message.type}`));
  expect(sent.map((request) => request.id)).toEqual([1, 2]);
  const done: Message = { type: "done", version: 1, run: "a", id: 2 };
  channel.settle(done);
  channel.settle(done);
  channel.settle({ type: "error", version: 1, run: "a", id: 1, message: "no" });
  expect(answers).toEqual(["rows done", "barrier error"]);
});

it("the channel answers for a kernel that receives no messages", () => {
  const channel = new Channel(() => {
    throw new Error("Cannot send");
  });
  const answers: Message[] = [];
  channel.request({ type: "barrier", run: "a" }, (message) => answers.push(message));
  channel.request({ type: "sync", run: "a", first: 0 });
  expect(answers).toMatchObject([{ type: "error", run: "a", id: 1, message: "The kernel is gone." }]);
});
