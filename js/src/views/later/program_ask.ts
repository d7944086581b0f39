/** How the views of programs ask the kernel, whichever way they have to it. */
import { useMemo } from "preact/hooks";
import type { Ask } from "../program/scene";
import type { Asked } from "./load";

export function askOf(asked: Asked): Ask {
  return <Answer>(what: string, body: object = {}) =>
    new Promise<Answer>((resolve, reject) => {
      asked.ask({ ...body, type: "program", what }, (message) => {
        if (typeof message === "string") reject(new Error(message));
        else if (message.type === "program") resolve(message.answer as Answer);
        else reject(new Error(`the kernel answered ${JSON.stringify(message.type)}`));
      });
    });
}

export const useAsk = (asked: Asked): Ask => useMemo(() => askOf(asked), [asked]);
