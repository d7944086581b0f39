/** The list of keyboard shortcuts, shown over the panel. */
import { useEffect, useRef } from "preact/hooks";
import type { UiState } from "../../store/ui";
import { DEBUGGER_KEYS, DEBUGGER_KEYS_ELSEWHERE } from "../debugger/keys";
import { KEYS, KEYS_ELSEWHERE } from "./bindings";
import type { Key } from "./key";

export function Keys({ ui }: { ui: UiState }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = ui.keys.value;
  useEffect(() => {
    if (!open) return;
    const before = (dialog.current?.getRootNode() as ShadowRoot | undefined)?.activeElement;
    dialog.current?.showModal();
    return () => (before as HTMLElement | null)?.focus();
  }, [open]);
  if (!open) return null;
  const close = () => {
    ui.keys.value = false;
  };
  return (
    <dialog ref={dialog} class="keys" aria-label="Keys" data-testid="keys" onClose={close}>
      <header>
        <b>Keys</b>
        <button type="button" class="close" aria-label="Close" title="Close (Esc)" onClick={close}>
          ×
        </button>
      </header>
      <Lines keys={KEYS} elsewhere={KEYS_ELSEWHERE} />
      <h4>In the debugger, while the program is paused</h4>
      <Lines keys={DEBUGGER_KEYS} elsewhere={DEBUGGER_KEYS_ELSEWHERE} />
    </dialog>
  );
}

function Lines({ keys: own, elsewhere }: { keys: readonly Key[]; elsewhere: typeof KEYS_ELSEWHERE }) {
  return (
    <dl>
      {own.map(({ keys, words }) => (
        <Line key={words} keys={keys} words={words} />
      ))}
      {elsewhere.map(([keys, words]) => (
        <Line key={words} keys={keys.split(" ")} words={words} />
      ))}
    </dl>
  );
}

function Line({ keys, words }: { keys: readonly string[]; words: string }) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dt>
      <dd>{words}</dd>
    </div>
  );
}
