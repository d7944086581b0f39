// The watched values of the fake run: a small network that trains, its code, and a library of 5 000 lines.

const MODEL = `import jax
import jax.numpy as jnp

EPS = 1e-6


def forward(params, x):
    """The scores of each class.

    Dense layers with \`gelu\`; the last one is linear, so # this is no comment.
    """
    for w, b in params[:-1]:
        logits = x @ w + b
        h = jax.nn.gelu(logits)
        x = h / jnp.sqrt(h.var() + EPS)
    w, b = params[-1]
    return x @ w + b


def loss_fn(params, x, y):
    scores = forward(params, x)  # float32[64, 10]
    logp = jnp.log(jax.nn.softmax(scores))
    loss = -(logp * y).sum(-1).mean()
    return loss


@jax.jit
def step(params, batch):
    n = batch["x"].shape[0]
    loss, grads = jax.value_and_grad(loss_fn)(params, batch["x"], batch["y"])
    norm, low, high = jnp.sqrt(sum((g**2).sum() for g in grads)), grads[0].min(), grads[0].max(); scaled = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return scaled, loss
`.split("\n");
const STATISTICS = ["min", "max", "mean", "std", "l2", "zeros", "nan", "posinf", "neginf"];
const LOWER = ["0", ...Array.from({ length: 14 }, (_, i) => `2^${3 * i - 27}`)];
const HISTOGRAM = [...LOWER.toReversed().map((one) => `hist -${one}`), ...LOWER.map((one) => `hist +${one}`)];
const LIBRARY_LINES = 5000;

const noise = () => Math.random() + Math.random() + Math.random() - 1.5;

/** Returns the position of `text` in the code: line, column, end. */
function place(text, nth = 0) {
  const lines = MODEL.flatMap((line, i) => (line.includes(text) ? [i] : []));
  const line = lines[nth];
  const column = MODEL[line].indexOf(text);
  return { line: line + 1, column, end_line: line + 1, end_column: column + text.length };
}

const value = (name, shape, at, wave, more = {}) => ({ name, shape, at, wave, ...more });
const decay = (rate, size) => (t) => size * Math.exp(-t / rate);
const VALUES = [
  value("logits", [64, 128], place("x @ w + b"), (t) => 1 + 2 * Math.sin(t / 60), { full: true, histogram: true }),
  value("x @ w", [64, 128], place("x @ w"), (t) => 1 + 2 * Math.sin(t / 60)),
  value("h", [64, 128], place("jax.nn.gelu(logits)"), (t) => 0.8 + 0.2 * Math.sin(t / 30)),
  value("x", [64, 128], place("h / jnp.sqrt(h.var() + EPS)"), () => 1),
  value("h.var() + EPS", [], place("h.var() + EPS"), (t) => 0.4 + 0.1 * Math.sin(t / 20)),
  value("h.var()", [], place("h.var()"), (t) => 0.4 + 0.1 * Math.sin(t / 20)),
  value("w", [128, 10], place("params[-1]"), () => 0.3, { isSource: true }),
  value("b", [10], place("params[-1]"), () => 0.1, { isSource: true }),
  value("x @ w + b", [64, 10], place("x @ w + b", 1), (t) => 3 + t / 300),
  value("scores", [64, 10], place("forward(params, x)", 1), (t) => 3 + t / 300),
  value("logp", [64, 10], place("jnp.log(jax.nn.softmax(scores))"), (t) => 2 + t / 200, { breaks: true }),
  value("jax.nn.softmax(scores)", [64, 10], place("jax.nn.softmax(scores)"), () => 0.1),
  value("loss", [], place("-(logp * y).sum(-1).mean()"), decay(120, 2.3)),
  value("loss", [], place("jax.value_and_grad(loss_fn)"), decay(120, 2.3)),
  value("norm", [], place("jnp.sqrt(sum((g**2).sum() for g in grads))"), decay(150, 3)),
  value("low", [], place("grads[0].min()"), (t) => -decay(150, 0.3)(t)),
  value("high", [], place("grads[0].max()"), decay(150, 0.3)),
  value("scaled", [64, 128], place("jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)"), () => 0.3),
  value("y", [8], { ...place("(logp * y)"), end_column: place("(logp * y)").end_column }, () => 0.5, { lanes: 8 }),
];

export class FakeWatch {
  /** `first` is the id of its first site. */
  constructor(first, { library = 0, nanAt = Number.POSITIVE_INFINITY }) {
    this.nanAt = nanAt;
    this.first = first;
    this.step = 0;
    const functionOf = (line) => ["step", "loss_fn", "forward"].find((name) => line >= place(`def ${name}`).line);
    const both = VALUES.flatMap((one) => [
      { ...one, role: "value", file: "model.py", function: functionOf(one.at.line) },
      ...(one.isSource || one.lanes
        ? []
        : [{ ...one, role: "gradient", file: "model.py", function: functionOf(one.at.line) }]),
    ]);
    const inLibrary = Array.from({ length: library }, (_, i) => {
      const line = 12 + i * 20;
      const at = { line, column: 8, end_line: line, end_column: 27 };
      return {
        ...value(`v${i}`, [256, 256], at, (t) => Math.sin(t / 40 + i)),
        role: "value",
        file: "site-packages/library/layers.py",
        function: `layer_${Math.floor(i / 10)}`,
      };
    });
    this.values = [...both, ...inLibrary];
    this.sites = this.values.map((one, i) => this.siteOf(one, i));
    this.fired = this.values.map(() => 0);
  }

  siteOf({ name, shape, at, role, full, histogram, file, function: functionName }, i) {
    const isGradient = role === "gradient";
    const values =
      shape.length === 0 ? ["value"] : [...STATISTICS, ...(histogram ? HISTOGRAM : []), ...(full ? ["value"] : [])];
    return {
      id: this.first + i,
      kind: "watch",
      ordered: false,
      phase: isGradient ? "backward" : "forward",
      where: `${file.split("/").pop()}:${at.line}`,
      file,
      ...at,
      function: functionName,
      source: file === "model.py" ? MODEL[at.line - 1] : libraryLine(at.line),
      label: isGradient ? `grad/${name}` : name,
      values,
      shapes: values.map((one) => (one === "value" ? shape : [])),
      dtypes: values.map(() => "float32"),
      order: i,
      name_stack: isGradient ? "jit(step)/transpose(jvp(layer0))" : "jit(step)/jvp(layer0)",
      transforms: isGradient ? ["jit", "transpose", "jvp"] : ["jit", "jvp"],
      watch: {
        name,
        role,
        shape,
        dtype: "float32",
        primitive: "add",
        scope: "layer0",
        full: full ?? false,
        lanes: [],
        value: isGradient ? this.first + i - 1 : null, // The site of a gradient follows that of its value.
      },
    };
  }

  /**
   * Returns the events of one execution: `{ site, occurrence, lane, points: [[value, y], …] }`. `site` counts from 0.
   */
  execute() {
    const t = this.step++;
    return this.values.flatMap((one, i) =>
      Array.from({ length: one.lanes ?? 1 }, (_, lane) => ({
        site: this.first + i - 1,
        occurrence: this.fired[i]++,
        lane: one.lanes ? lane : -1,
        points: this.points(one, t, lane),
      })),
    );
  }

  points({ wave, shape, role, breaks, histogram }, t, lane) {
    const isBroken = t >= this.nanAt && (breaks || role === "gradient");
    const size = (role === "gradient" ? 0.02 * Math.exp(-t / 400) : 1) * (wave(t) + 0.05 * noise() + 0.1 * lane);
    if (shape.length === 0) return [[0, isBroken ? Number.NaN : size]];
    const statistics = [-2.1 * size, 2.4 * size, 0.1 * size, size, size * Math.sqrt(shape.reduce((a, b) => a * b)), 3];
    const bad = isBroken ? [role === "gradient" ? 12 : 0, 0, role === "gradient" ? 0 : 3] : [0, 0, 0];
    const bars = histogram
      ? HISTOGRAM.map((_, bar) => Math.round(900 * Math.exp(-((Math.abs(bar - 14.5) - 7 - 2 * Math.sin(t / 50)) ** 2))))
      : [];
    return [...statistics, ...bad, ...bars].map((y, k) => [k, y]);
  }
}

export function answerSource({ id, file }) {
  if (file === "model.py") {
    const functions = ["forward", "loss_fn", "step"].map((name) => ({ name, first: place(`def ${name}`).line }));
    functions.forEach((one, i) => {
      one.last = (functions[i + 1]?.first ?? MODEL.length + 1) - 1;
    });
    const names = [{ ...place('batch["x"].shape[0]'), name: "n", why: "a Python int while tracing, no array" }];
    return { type: "source", id, file, where: "model.py", first_line: 1, lines: MODEL, functions, names };
  }
  const lines = Array.from({ length: LIBRARY_LINES }, (_, i) => libraryLine(i + 1));
  const functions = Array.from({ length: 25 }, (_, i) => ({
    name: `layer_${i}`,
    first: 10 + i * 200,
    last: 200 + i * 200,
  }));
  return { type: "source", id, file, where: "layers.py", first_line: 1, lines, functions, names: [] };
}

function libraryLine(line) {
  if (line % 200 === 10) return `def layer_${Math.floor(line / 200)}(x, w):`;
  return line % 20 === 12
    ? `    v${Math.floor(line / 20)} = jnp.tanh(x @ w_${String(line).padStart(4, "0")})`
    : `    # line ${line} of the library`;
}
