/** The list of keys, over the panel. */
import { useEffect, useRef } from "preact/hooks";
import type { UiState } from "../../store/ui";
import { KEYS, KEYS_ELSEWHERE } from "./bindings";

export function Keys({ ui }: { ui: UiState }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = ui.keys.value;
  useEffect(() => {
    if (!open) return;
    dialog.current?.showModal();
    return () => dialog.current?.close();
  }, [open]);
  if (!open) return null;
  const close = () => {
    ui.keys.value = false;
  };
  return (
    <dialog ref={dialog} class="keys" aria-label="Keys" data-testid="keys" onClose={close}>
      <header>
        <b>Keys</b>
        <button type="button" class="close" aria-label="Close" onClick={close}>
          ×
        </button>
      </header>
      <dl>
        {KEYS.map(({ keys, words }) => (
          <Line key={words} keys={keys} words={words} />
        ))}
        {KEYS_ELSEWHERE.map(([keys, words]) => (
          <Line key={words} keys={keys.split(" ")} words={words} />
        ))}
      </dl>
    </dialog>
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
