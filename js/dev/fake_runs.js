// The table of runs of the fake kernel, and the comparison of runs.

const NAMES = ["warm restart with a long name that nobody will read to its end", "baseline", "", "lr 0.3, seed 2"];

/** Returns `count` rows; `key` is the newest run. */
export function fakeRuns(key, count) {
  const now = Date.now() / 1000;
  return Array.from({ length: count }, (_, i) => ({
    ...{ key: i === 0 ? key : `run-${i}`, title: "train(params, digits, key)", name: NAMES[i % NAMES.length] },
    ...{ cell: 12 - i, asked: "--watch-all --every 10", config: { lr: 0.1 * (i + 1) }, state: "done" },
    ...{
      started: now - 600 * i,
      elapsed: 4,
      events: 800,
      steps: 100 * (i + 1),
      value: "loss",
      last: i === 2 ? "NaN" : 0.2 / (i + 1),
    },
    ...{ step_ms: 5.1 + i, findings: i, gone: "", file: "", barrier: "drained", pending: [], waited: 0 },
  }));
}

export function fakeCompared(runs) {
  const x = Array.from({ length: 40 }, (_, i) => i);
  const lines = runs.map((_, group) => ({
    group,
    of: 1,
    x,
    seconds: x.map((i) => i / 100),
    y: x.map((i) => (group + 2) / (i + 1)),
  }));
  const place = { name: "grads['layers'][0]['kernel']", where: "train.py:41", source: "loss = ce(logits, y)" };
  return {
    ...{
      runs,
      missing: [],
      by: "",
      groups: runs.map((_, i) => ({ runs: [i], label: NAMES[i % NAMES.length] || "run" })),
    },
    config: [{ name: "lr", values: runs.map((_, i) => String(0.1 * (i + 1))) }],
    parted: { ...place, first: 4, at: 9, worst: 1, values: runs.map((_, i) => i + 0.123456) },
    values: [{ ...place, first: 4, at: 9, worst: 1, values: runs.map((_, i) => i + 0.123456) }],
    ...{
      compared: 1,
      unread: 0,
      charts: [
        { name: "loss", lines },
        { name: "acc", lines },
      ],
    },
  };
}
