/**
 * Sends comm messages on the control channel, which a kernel reads also while a cell runs. JupyterLab and Notebook 7
 * have it.
 */
/** The part of JupyterLab's kernel connection that we use. */
export interface ControlKernel {
  readonly clientId: string;
  readonly username: string;
  /** Emitted when the kernel was shut down, or has died. Its comms then close without a message. */
  readonly disposed?: {
    connect(slot: () => void): unknown;
    disconnect(slot: () => void): unknown;
  };
  sendControlMessage?(message: object, expectReply: boolean, disposeOnDone: boolean): unknown;
}

export function sendControl(kernel: ControlKernel, comm: string, request: { readonly id: number }): void {
  const header = {
    // `crypto.randomUUID` exists only on secure pages (HTTPS or localhost).
    msg_id: `${kernel.clientId}-jaxdebug-${request.id}`,
    msg_type: "comm_msg",
    session: kernel.clientId,
    username: kernel.username,
    version: "5.3",
    date: new Date().toISOString(),
  };
  const content = { comm_id: comm, data: { method: "custom", content: request } };
  kernel.sendControlMessage?.(
    { header, parent_header: {}, metadata: {}, channel: "control", buffers: [], content },
    false,
    true,
  );
}
