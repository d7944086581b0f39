import type { Kernel } from "@jupyterlab/services";
import { describe, expect, it, vi } from "vitest";
import { askControl } from "./control";

function kernelWith(status: string, isDisposed = false) {
  const sendControlMessage = vi.fn(() => ({ done: Promise.resolve({ content: { status: "ok", comms: { c: {} } } }) }));
  const kernel = { status, isDisposed, clientId: "page", username: "", sendControlMessage };
  return { kernel: kernel as unknown as Kernel.IKernelConnection, sendControlMessage };
}

describe("comm_info_request on the control channel", () => {
  it("is also sent to a kernel that is shown as idle: a debugger's request has that effect while a cell runs", async () => {
    for (const status of ["busy", "unknown", "idle"]) {
      expect(await askControl(kernelWith(status).kernel)).toEqual({ status: "ok", comms: { c: {} } });
    }
  });

  it("is not sent to a kernel that is gone", async () => {
    const { kernel, sendControlMessage } = kernelWith("dead", true);
    expect(await askControl(kernel)).toBeUndefined();
    expect(sendControlMessage).not.toHaveBeenCalled();
  });
});
