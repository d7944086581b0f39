// The messages of a fake debugger: a breakpoint in a vmapped loss with a logarithm that is not finite, or an equation
// of a stepped jaxpr.
import { answerArray, SHAPES } from "./fake_arrays.js";

const SOURCE = `def loss_fn(params, x, y):
    """Cross entropy; the softmax of a large score is 0,
    and the logarithm of that is -inf."""
    scores = forward(params, x)
    logp = jnp.log(jax.nn.softmax(scores))
    logp = jdw.breakpoint(logp, when=~jnp.isfinite(logp).all(-1), name="logp")
    eps = 1e-6  # unused
    loss = -(logp * y).sum(-1).mean()
    if wandb:
        raise RuntimeError(f"loss {loss!r}")
    return loss`.split("\n");
const JAXPR = `{ lambda ; a:f32[3] b:i32[]. let
    c:f32[3] = mul a 2.0:f32[]
    d:f32[3] = sin c
    e:f32[3] = scan[length=8 jaxpr={ … }] d
    f:f32[] = reduce_sum[axes=(0,)] e
  in (f,) }`.split("\n");

const stats = (changes) => ({ size: 1, nan: 0, inf: 0, zero: 0, min: 0, max: 1, mean: 0.5, std: 0.2, ...changes });
const array = (name, text, shape, changes = {}, dtype = "float32") => ({
  name,
  type: "Array",
  text,
  shape,
  dtype,
  device: "cpu:0",
  stats: stats({ size: shape.reduce((a, b) => a * b, 1), ...changes }),
});
const plain = (name, type, text) => ({ name, type, text, shape: null, dtype: null, device: "", stats: null });

const LOCALS = [
  array("scores", "Array([[-6.2, 0.1, …], …], dtype=float32)", SHAPES.x, { min: -6.2, max: 7.9, mean: 0.031 }),
  array("logp", "Array([-inf, -0.01, nan, …], dtype=float32)", [64], {
    min: -9.2,
    max: -0.01,
    mean: -2.2,
    nan: 3,
    inf: 1,
  }),
  array("picture", "Array([[[0.5, …]]], dtype=float32)", SHAPES.picture, { min: 0, max: 1 }),
  array("step", "Array(408, dtype=int32)", [], { min: 408, max: 408, mean: 408 }, "int32"),
  plain(
    "params",
    "dict",
    "{'w': Array([[ 0.021, -0.113, …]], dtype=float32),\n 'b': Array([0., 0., …], dtype=float32)}",
  ),
  plain("wandb", "NoneType", "None"),
  plain("name", "str", "'größe <b>bold?</b>'"),
];

const frame = (index, name, where, line, source, first_line, locals) => ({
  index,
  file: `/home/me/${where.split(":")[0]}`,
  where,
  function: name,
  line,
  first_line,
  source,
  locals,
});
const FRAMES = [
  frame(0, "loss_fn", "model.py:25", 25, SOURCE, 20, LOCALS),
  frame(
    1,
    "train.<locals>.step",
    "train.py:33",
    33,
    ["    grads = jax.grad(loss_fn)(params, x, y)"],
    33,
    LOCALS.slice(4),
  ),
  frame(2, "<module>", "In [7]:2", 2, ["%%jaxdebug", "params, losses = train(params, digits, key)"], 1, []),
];
const STEPPED = [
  frame(0, "jaxpr of f", "f:3", 3, JAXPR, 1, [
    array("a", "Array([0.1, 0.2, 0.3], dtype=float32)", [3]),
    array("b", "Array(4, dtype=int32)", [], {}, "int32"),
    array("c", "Array([0.2, 0.4, 0.6], dtype=float32)", [3], { min: 0.2, max: 0.6, mean: 0.4 }),
  ]),
];
const NAMES = ["argmax", "argmin", "argsort", "argwhere", "isfinite", "isnan"];

export class FakeDebugger {
  constructor(kernel) {
    Object.assign(this, { kernel, stop: null, stops: 0, answers: 5 });
    this.breakpoints = [
      {
        site: 21,
        name: "logp",
        where: "model.py:25",
        condition: "~jnp.isfinite(logp).all(-1)",
        enabled: true,
        skip: 0,
        hits: 3,
        cost: "5 values, 4.2 kB: whole until here, and to the host where the condition holds; in no order with other effects",
      },
      { site: 22, name: "", where: "train.py:48", condition: "", enabled: false, skip: 2, hits: 0, cost: "" },
    ];
  }

  halt(kind, changes = {}) {
    const stepped = kind === "step";
    const lanes = stepped
      ? { sizes: [], stopped: null, chosen: [] }
      : { sizes: [64], chosen: [12], stopped: [[12], [40], [41]] };
    this.stop = {
      id: ++this.stops,
      kind,
      site: stepped ? -1 : 21,
      name: stepped ? "" : "logp",
      reason: stepped
        ? "About to run sin"
        : kind === "pause"
          ? "Paused"
          : "~jnp.isfinite(logp).all(-1) holds in 3 of 64 lanes",
      since: 0,
      timeout: null,
      thread: "Dummy-3",
      way: "shell",
      phase: "forward",
      step: stepped ? [] : [408],
      lanes,
      device: "cpu:0",
      event: -1,
      hits: 3,
      warning: "",
      replaceable: stepped ? null : { name: "logp", shape: [64], dtype: "float32" },
      frame: 0,
      frames: stepped ? STEPPED : FRAMES,
      ...changes,
    };
    this.send();
  }

  change(changes) {
    this.stop &&= { ...this.stop, ...changes };
    this.send();
  }

  send() {
    this.kernel.emit({ type: "stop", stop: this.stop });
  }

  answer(request) {
    const { type, id, text } = request;
    const { stop } = this;
    const reply = (message) => this.kernel.emit({ id, ...message });
    const done = () => reply({ type: "done" });
    const change = (changes) => {
      this.change(changes);
      done();
    };
    if (type === "here") return request.keep ? change({ timeout: null }) : done();
    if (type === "frame") return change({ frame: request.frame });
    if (type === "lane") return change({ lanes: { ...stop.lanes, chosen: request.lane } });
    if (type === "pause") {
      done();
      return this.halt("pause");
    }
    if (type === "command")
      return setTimeout(() => reply({ type: "console", stop: stop.id, ...this.run(text) }), this.answers);
    if (type === "complete") {
      const [, word] = /(\w*)$/.exec(text.slice(0, request.cursor));
      const matches = NAMES.filter((name) => name.startsWith(word));
      return reply({ type: "completions", start: request.cursor - word.length, matches });
    }
    if (type === "local") {
      const { index, image, name } = request;
      const { content, buffer } = answerArray(
        { label: { picture: "picture", scores: "x" }[name] ?? "vector" },
        408 + stop.lanes.chosen[0],
        { id, event: -1, value: -1, index, image },
      );
      return this.kernel.emit({ ...content, name }, buffer);
    }
    if (type === "breakpoint") {
      const { site, type: _, id: __, run: ___, ...change } = request;
      this.breakpoints = this.breakpoints.map((one) => (one.site === site ? { ...one, ...change } : one));
      done();
      return this.kernel.sendBatch(this.kernel.sent);
    }
    if (type === "resume" || type === "halt") {
      done();
      this.stop = null;
      if (type === "halt" || request.how === "quit") this.kernel.end();
      this.send();
    }
  }

  run(text) {
    if (text.includes("1/0")) return { text: "ZeroDivisionError: division by zero", error: true };
    if (text === "bt")
      return { text: FRAMES.map(({ where, function: name }) => `${where} ${name}`).join("\n"), error: false };
    return { text: `Array([[12, 3], [40, 3], [41, 3]], dtype=int32)`, error: false };
  }
}
