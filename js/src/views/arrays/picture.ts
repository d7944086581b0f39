/** Whether an array is shown in its colours: it can be by its type, somebody wants it, and the kernel has not said that it is none. */
import { useLayoutEffect, useState } from "preact/hooks";
import type { SliceAnswer } from "../../store/arrays";
import { canBeImage } from "./values";

export interface Picture {
  /** It can be switched. */
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
  /** To be called with what the kernel has answered, at each drawing. */
  const useAnswer = (answer: SliceAnswer | undefined) => {
    const isRefusal = picture.is && typeof answer === "object" && answer.channels === undefined;
    useLayoutEffect(() => {
      if (isRefusal) setRefused(true);
    }, [isRefusal]);
  };
  return [picture, useAnswer];
}
