/** Requests the findings of a run from the kernel. */
import { useEffect, useState } from "preact/hooks";
import type { RunStore } from "../../store/run";
import type { FindingMessage } from "../../transport/wire";

/** Requests the findings when they are first `wanted`, and again when their number changes or the run has ended. */
export function useFindings(run: RunStore, wanted = true): { findings: FindingMessage[] | null; problem: string } {
  const [findings, setFindings] = useState<FindingMessage[] | null>(null);
  const [problem, setProblem] = useState("");
  const there = run.status?.findings ?? 0;
  useEffect(() => {
    if (!wanted) return;
    run.ask({ type: "findings" }, (answer) => {
      if (typeof answer === "string") setProblem(answer);
      else if (answer.type === "findings") {
        setFindings(answer.findings);
        setProblem("");
      }
    });
  }, [run, wanted, there, run.active]);
  return { findings, problem: findings ? "" : problem };
}
