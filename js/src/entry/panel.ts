/**
 * The module that anywidget loads for the model of a kernel session (`jax_debug_widgets/widgets/`). The model carries
 * all runs of the session, so `initialize` adds all listeners. `render` is for hosts that isolate outputs.
 */
import type { RunStore } from "../store/run";
import type { UiState } from "../store/ui";
import type { Request } from "../transport/wire";
import { showProgram } from "../views/later/ProgramOutput";
import { mountPanel } from "../views/panel/mount";
import { Client } from "./client";
import { sendControl } from "./control";
import { EngineRequests } from "./engine";
import type { Model } from "./model";
import { pageRegistry, RUN_ATTRIBUTE } from "./registry";

const mount = (host: HTMLElement, run: RunStore, ui: UiState) => mountPanel(host, run, ui);

function initialize({ model }: { model: Model }): () => void {
  const registry = pageRegistry(mount, showProgram);
  const comm = model.get("comm_id");
  if (model.standsIn) registry.standIns.add(comm);
  else if (registry.standIns.has(comm)) return () => {};
  const engine = model.get("way") === "engine" ? new EngineRequests((request) => model.send(request)) : undefined;
  const client = new Client(
    (request) => {
      try {
        if (engine) engine.request(request);
        else send(model, request);
      } catch (error) {
        // The comm of a kernel that was shut down, or has died, closes without a message.
        lose();
        throw error;
      }
    },
    () => registry.sweep(),
    model.get("run"),
  );
  let isLost = false;
  const receive = (content: unknown, buffers: DataView[]) => {
    client.receive(content, buffers);
    engine?.setActive(client.goesOn);
    if (isLost) registry.offerFiles();
    isLost = false;
  };
  const lose = () => {
    isLost = true;
    client.lose();
    engine?.setActive(false);
    registry.offerFiles();
  };
  const loseUntilAnswered = () => {
    lose();
    client.catchUp();
  };
  const listeners: [string, (...args: never[]) => void][] = [
    ["msg:custom", receive],
    ["comm:close", lose],
    ["comm_live_update", loseUntilAnswered],
  ];
  for (const [event, listener] of listeners) model.on(event, listener);
  const disposed = model.widget_manager?.kernel?.disposed;
  disposed?.connect(lose);
  registry.add(client);
  return () => {
    disposed?.disconnect(lose);
    for (const [event, listener] of listeners) model.off(event, listener);
    engine?.end();
    if (model.standsIn) registry.standIns.delete(comm);
    registry.remove(client);
    lose();
  };
}

/**
 * Sends a request on the control channel if the kernel uses it: ipykernel 6 reads the other channel only between cells.
 */
function send(model: Model, request: Request): void {
  const kernel = model.widget_manager?.kernel;
  if (kernel?.sendControlMessage && model.get("way") === "control") sendControl(kernel, model.get("comm_id"), request);
  else model.send(request);
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const registry = pageRegistry(mount, showProgram);
  // In marimo, the output is a sibling of the model's view, inside a layout (`mo.vstack`) with a shadow root.
  if (registry.standsAround(el, model.get("run"))) return () => {};
  const output = document.createElement("div");
  output.setAttribute(RUN_ATTRIBUTE, model.get("run"));
  output.innerHTML = "<p>Waiting for the kernel; if it has ended, run the cell again.</p>";
  el.append(output);
  return registry.give(output);
}

const panel = { initialize, render };

declare global {
  interface Window {
    __jaxDebugPanel?: typeof panel;
  }
}

/**
 * Each model loads its own copy of this module, and views react only to stores of their own copy. So the page uses the
 * first copy for all models.
 */
window.__jaxDebugPanel ??= panel;
export default window.__jaxDebugPanel as typeof panel;
