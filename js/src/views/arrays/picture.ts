/**
 * Decides whether an array is shown in its colours: its type allows it, the user has not switched it off, and the
 * kernel has not refused.
 */
import { useLayoutEffect, useState } from "preact/hooks";
import type { SliceAnswer } from "../../store/arrays";
import { canBeImage } from "./values";

export interface Picture {
  /** Whether the user can switch. */
  mayBe: boolean;
  is: boolean;
  toggle(): void;
}

export function usePicture(
  shape: readonly number[],
  dtype: string,
): [Picture, (answer: SliceAnswer | undefined) => void] {
  const [wanted, setWanted] = useState(true);
  const [refused, setRefused] = useState(false);
  const mayBe = canBeImage(shape, dtype) && !refused;
  const picture = { mayBe, is: mayBe && wanted, toggle: () => setWanted(!wanted) };
  /** Takes the kernel's answer. To be called at each rendering, as a hook. */
  const useAnswer = (answer: SliceAnswer | undefined) => {
    const isRefusal = picture.is && typeof answer === "object" && answer.channels === undefined;
    useLayoutEffect(() => {
      if (isRefusal) setRefused(true);
    }, [isRefusal]);
  };
  return [picture, useAnswer];
}
