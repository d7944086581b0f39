// What the kernel side sends, made up: ordered loss and grad_norm, unordered x, a backward g, a callback acc, 3 calls.
const HZ = 30;
const NEWEST_TEXTS = 200;

const SITES = [
  { label: "loss", kind: "print", ordered: true, where: "train.py:41", function: "train.<locals>.step" },
  { label: "grad_norm", kind: "print", ordered: true, where: "train.py:44", function: "train.<locals>.step" },
  { label: "x", kind: "print", ordered: false, where: "model.py:17", function: "forward" },
  { label: "g", kind: "print", ordered: false, where: "model.py:29", function: "forward", phase: "backward" },
  { label: "acc", kind: "callback", ordered: false, where: "train.py:52", function: "evaluate" },
].map((site, i) => ({
  id: i + 1,
  phase: "forward",
  file: site.where.split(":")[0],
  line: Number(site.where.split(":")[1]),
  column: 4,
  source: `    jax.debug.${site.kind}("${site.label} {${site.label}}", ${site.label}=${site.label}, ordered=${site.ordered})`,
  values: [site.label],
  name_stack: site.phase === "backward" ? "jit(train)/transpose(jvp())" : "jit(train)",
  transforms: site.phase === "backward" ? ["jit", "scan", "grad"] : ["jit", "scan"],
  ...site,
}));
const PATTERN = [0, 2, 3, 1, 2, 0, 3, 2, 1, 4];

const noise = () => Math.random() + Math.random() + Math.random() - 1.5;
const VALUES = [
  (t) => 2.3 * Math.exp(-t / 95) + 0.12 + 0.03 * noise() * Math.exp(-t / 300),
  (t) => (t % 211 === 210 ? Number.NaN : 3 * Math.exp(-t / 150) + 0.25 * Math.abs(noise())),
  () => 0.4 * noise(),
  (t) => (t % 97 === 96 ? Number.NaN : t % 163 === 162 ? Infinity : 1e-3 * Math.abs(noise())),
  (t) => 1 - 0.9 * Math.exp(-t / 9) + 0.012 * noise(),
];
const pythonNumber = (y) => (Number.isNaN(y) ? "nan" : y === Infinity ? "inf" : y.toPrecision(5));
const LINES = [
  (y) => `loss ${pythonNumber(y)}`,
  (y) => `grad_norm ${pythonNumber(y)}`,
  (y) => `x [[${y.toFixed(2)} ${(y / 2).toFixed(2)} …]\n   [${(-y).toFixed(2)} 0.33 …]\n   [0.01 0.94 …]] f32[64,128]`,
  (y) => `g ${Number.isFinite(y) ? y.toExponential(3) : pythonNumber(y)}`,
  (y) => `acc=${pythonNumber(y)}  <b>bold?</b>`,
];

export class FakeKernel {
  constructor(run, { rate, seconds, state }) {
    Object.assign(this, { run, rate, state, events: [], sent: 0, batches: 0, listeners: new Map() });
    this.began = performance.now() - 1000 * seconds;
    this.started = (Date.now() - 1000 * seconds) / 1000;
    this.fired = SITES.map(() => 0);
    this.model = {
      get: () => "",
      on: (event, listener) => this.listeners.set(event, listener),
      off: (event) => this.listeners.delete(event),
      send: (request) => setTimeout(() => this.answer(request), 5),
    };
  }

  start() {
    this.tick();
    if (this.state === "running") this.timer = setInterval(() => this.tick(), 1000 / HZ);
  }

  tick() {
    const end = Math.floor(this.elapsed() * this.rate);
    while (this.events.length < end) this.fire();
    this.sendBatch(this.sent);
    this.sent = this.events.length;
  }

  elapsed() {
    return (performance.now() - this.began) / 1000;
  }

  fire() {
    const number = this.events.length;
    const site = PATTERN[number % PATTERN.length];
    const occurrence = this.fired[site]++;
    const y = VALUES[site](occurrence);
    this.events.push({ site, occurrence, y, time: number / this.rate, scalar: site !== 2 });
  }

  sendBatch(first, id) {
    const events = this.events.slice(first);
    const points = events.map((event, row) => ({ ...event, row })).filter((event) => event.scalar);
    const newest = Math.max(0, events.length - NEWEST_TEXTS);
    const { columns, buffer } = pack({
      site: Uint32Array.from(events, (event) => event.site + 1),
      time: Float64Array.from(events, (event) => event.time),
      occurrence: Uint32Array.from(events, (event) => event.occurrence),
      lane: new Int32Array(events.length).fill(-1),
      call: new Int32Array(events.length).fill(3),
      point_row: Uint32Array.from(points, (point) => point.row),
      point_value: new Uint16Array(points.length),
      point_y: Float64Array.from(points, (point) => point.y),
      ...this.texts(first + newest, this.events.length, newest),
    });
    const header = { type: "batch", batch: this.batches++, first, count: events.length, oldest: 0, id };
    this.emit({ ...header, columns, sites: SITES, calls: this.calls(), status: this.status() }, buffer);
  }

  answer({ type, id, first, count }) {
    if (type === "sync") this.sendBatch(first, id);
    if (type === "barrier") setTimeout(() => this.emit({ type: "done", id }), 1500);
    if (type !== "rows") return;
    const { columns, buffer } = pack(this.texts(first, first + count, 0));
    this.emit({ type: "rows", id, first, count, columns }, buffer);
  }

  emit(content, buffer) {
    const json = JSON.parse(JSON.stringify({ version: 1, run: this.run, ...content }));
    this.listeners.get("msg:custom")?.(json, buffer ? [new DataView(buffer)] : []);
  }

  texts(first, end, row) {
    const lines = this.events.slice(first, end).map(({ site, y }) => new TextEncoder().encode(LINES[site](y)));
    let bytes = 0;
    const ends = lines.map((line) => (bytes += line.length));
    const text = new Uint8Array(bytes);
    lines.forEach((line, i) => {
      text.set(line, ends[i] - line.length);
    });
    return { text_row: Uint32Array.from(lines, (_, i) => row + i), text_end: Uint32Array.from(ends), text };
  }

  calls() {
    const done = { trace: null, lower: null, compile: null, effects: true, ordered: true, state: "drained", error: "" };
    const failed = { state: "failed", error: "FloatingPointError: nan in grad_norm\n  at train.py:44" };
    return [
      {
        ...done,
        id: 1,
        name: "init",
        started: 0,
        trace: 0.0412,
        lower: 0.011,
        compile: 0.31,
        dispatched: 0.37,
        ready: 0.38,
        drained: 0.381,
        events: 0,
        effects: false,
      },
      {
        ...done,
        id: 2,
        name: "evaluate",
        started: 0.4,
        dispatched: 0.4,
        ready: 0.52,
        drained: null,
        events: 1,
        ...failed,
      },
      {
        ...done,
        id: 3,
        name: "train",
        started: 0.55,
        trace: 0.21,
        lower: 0.034,
        compile: 0.83,
        dispatched: 1.63,
        ready: this.state === "running" ? null : 7.9,
        drained: this.state === "done" ? 7.93 : null,
        events: this.events.length,
        state: this.state,
      },
    ];
  }

  status() {
    const pending = this.state === "done" ? [] : ["train"];
    return {
      state: this.state,
      title: "train(params, digits, key)",
      started: this.started,
      elapsed: this.elapsed(),
      events: this.events.length,
      rate: this.rate,
      dropped: 0,
      dropped_by_site: {},
      barrier: { state: pending.length ? "pending" : "drained", pending, waited: 0, timeout: 30 },
      notes: [],
    };
  }
}

/** As `pack` in `wire.py`. */
function pack(arrays) {
  const columns = [];
  let offset = 0;
  for (const [name, array] of Object.entries(arrays)) {
    const dtype = array.constructor.name.replace("Array", "").toLowerCase();
    columns.push({ name, dtype, offset, length: array.length });
    offset += Math.ceil(array.byteLength / 8) * 8;
  }
  const bytes = new Uint8Array(offset);
  Object.values(arrays).forEach((array, i) => {
    bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), columns[i].offset);
  });
  return { columns, buffer: bytes.buffer };
}
