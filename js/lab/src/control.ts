/** Sends `comm_info_request` on the control channel. ipykernel answers there while its main thread runs a cell. */
import { type Kernel, KernelMessage } from "@jupyterlab/services";
import { TARGET } from "./wire";

type Reply = KernelMessage.ICommInfoReplyMsg["content"];

/** Returns undefined if the kernel is gone. */
export async function askControl(kernel: Kernel.IKernelConnection): Promise<Reply | undefined> {
  if (kernel.isDisposed) return undefined;
  const message = KernelMessage.createMessage({
    channel: "control",
    msgType: "comm_info_request" as "debug_request",
    session: kernel.clientId,
    username: kernel.username,
    content: { target_name: TARGET } as never,
  });
  const reply = await kernel.sendControlMessage(message, true, true).done;
  return reply?.content as Reply | undefined;
}
