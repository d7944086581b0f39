/** A comm message by the control channel, which a kernel also reads while a cell runs. JupyterLab and Notebook 7. */
/** What we use of JupyterLab's kernel connection. */
export interface ControlKernel {
  readonly clientId: string;
  readonly username: string;
  sendControlMessage?(message: object, expectReply: boolean, disposeOnDone: boolean): unknown;
}

export function sendControl(kernel: ControlKernel, comm: string, request: { readonly id: number }): void {
  const header = {
    // `crypto.randomUUID` is missing on pages that are not served securely.
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
