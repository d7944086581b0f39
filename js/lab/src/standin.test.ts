import { describe, expect, it, vi } from "vitest";
import type { Model } from "../../src/entry/model";
import { FakeKernel } from "../test/fakes";
import { StandIn } from "./standin";

const MESSAGE = { type: "panel", version: 1, comm_id: "c", way: "control", text: "export default …" } as const;

async function standIn() {
  const kernel = new FakeKernel("k");
  const heard = vi.fn();
  const again = vi.fn();
  const leave = vi.fn();
  let model: Model | undefined;
  const initialize = (props: { model: Model }) => {
    model = props.model;
    model.on("msg:custom", heard);
    model.on("comm_live_update", again);
    return leave;
  };
  const load = vi.fn(async () => ({ initialize }));
  const it = new StandIn(kernel.connection, MESSAGE, load);
  await vi.waitFor(() => expect(model).toBeDefined());
  return { kernel, heard, again, leave, load, it, model: model as Model };
}

const message = (comm_id: string, method = "custom") => ({
  header: { msg_type: "comm_msg" },
  content: { comm_id, data: { method, content: { type: "stop" } } },
  buffers: [],
});

describe("the stand-in for the model of a busy kernel", () => {
  it("runs the kernel's program, and says that it stands in", async () => {
    const { load, model, kernel } = await standIn();
    expect(load).toHaveBeenCalledWith(MESSAGE.text);
    expect([model.get("comm_id"), model.get("way"), model.get("run"), model.standsIn]).toEqual([
      "c",
      "control",
      "",
      true,
    ]);
    expect(model.widget_manager?.kernel).toBe(kernel);
  });

  it("forwards only the messages of its comm", async () => {
    const { kernel, heard } = await standIn();
    kernel.iopubMessage.emit(message("other"));
    kernel.iopubMessage.emit(message("c", "update"));
    kernel.iopubMessage.emit({ header: { msg_type: "status" }, content: {}, buffers: [] });
    expect(heard).not.toHaveBeenCalled();
    kernel.iopubMessage.emit(message("c"));
    expect(heard).toHaveBeenCalledWith({ type: "stop" }, []);
  });

  it("requests missed messages when the connection is back", async () => {
    const { kernel, again } = await standIn();
    kernel.connectionStatusChanged.emit("connecting");
    expect(again).not.toHaveBeenCalled();
    kernel.connectionStatusChanged.emit("connected");
    expect(again).toHaveBeenCalledOnce();
  });

  it("is removed with the kernel", async () => {
    const { kernel, heard, leave } = await standIn();
    kernel.dispose();
    await vi.waitFor(() => expect(leave).toHaveBeenCalledOnce());
    kernel.iopubMessage.emit(message("c"));
    expect(heard).not.toHaveBeenCalled();
  });
});
