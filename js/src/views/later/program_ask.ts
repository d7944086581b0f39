/** Sends the requests of the views of programs to the kernel, through a run or a kernel session. */
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
