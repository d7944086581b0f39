/**
 * A field for an integer. It reports the number when the user has finished, because the panel is drawn again while the
 * user types.
 */
import { useState } from "preact/hooks";

interface Props {
  label: string;
  value: number;
  most?: number;
  disabled: boolean;
  give: (value: number) => void;
}

export function NumberField({ label, value, most, disabled, give }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const done = ({ currentTarget: { validity, value: text, valueAsNumber } }: { currentTarget: HTMLInputElement }) => {
    setTyped(null);
    if (validity.valid && text && valueAsNumber !== value) give(valueAsNumber);
  };
  return (
    <input
      type="number"
      aria-label={label}
      title={label}
      min={0}
      max={most}
      value={typed ?? value}
      disabled={disabled}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={done}
      // In JupyterLab, Enter does not cause a change event.
      onKeyDown={(event) => event.key === "Enter" && done(event)}
    />
  );
}
