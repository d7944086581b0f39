// The findings of the fake run: long lines, a fix, followers.

const FINDINGS = [
  {
    ...{
      kind: "nonfinite",
      severity: 1,
      headline: "the derivative of `jnp.sqrt(n2)` is infinite, call 20 of its program",
    },
    ...{ where: "model.py:29", file: "model.py", line: 29, first_line: 28, site: 4, event: 12, lane: [3] },
    why: "div(0.5, 0) = inf at [0, 0]. In the same call 4 other lines had such values.",
    advice: "A jnp.where around the result alone does not remove the infinite derivative: 0 * inf is NaN.",
    lines: [
      "    n2 = (z ** 2).sum(-1, keepdims=True)",
      "    norm = jnp.where(n2 > 0, jnp.sqrt(n2), 1.0)  # the length of each row, and 1 where that is 0",
    ],
    section: "https://docs.jax.dev/en/latest/201/debugging.html#jax-debug-nans",
    fix: ["is_safe = n2 > 0", "norm = jnp.where(is_safe, jnp.sqrt(jnp.where(is_safe, n2, 1.0)), 1.0)"],
    followers: ["grads['enc']['w']", "grads['enc']['b']", "grads['dec']['w']"].map((label) => ({
      site: 3,
      event: 40,
      label,
    })),
    following: 31,
  },
  {
    ...{ kind: "keys", severity: 1, headline: "the key `key` is used twice", where: "train.py:41", file: "train.py" },
    ...{ line: 41, first_line: 41, site: -1, event: -1, lane: [], followers: [], following: 0 },
    why: "Both calls draw the same numbers.",
    advice: "",
    section: "https://docs.jax.dev/en/latest/jax.random.html#prng-keys",
    lines: ["noise = jax.random.normal(key, x.shape)"],
    fix: ["key, own = jax.random.split(key)"],
  },
  {
    ...{
      kind: "retraces",
      severity: 3,
      headline: "`train` was compiled 3 times",
      where: "train.py:60",
      file: "train.py",
    },
    ...{ line: 60, first_line: 60, site: -1, event: -1, lane: [], followers: [], following: 0, fix: [] },
    why: "Each time the argument `batch` had another shape: float32[64,128], float32[29,128], float32[7,128].",
    advice: "Pad the last batch, or leave it out.",
    section: "",
    lines: ["params, losses = train(params, digits, key)"],
  },
];

export const fakeFindings = (count) => FINDINGS.slice(0, count);
