// The messages of a fake kernel: ordered loss and grad_norm, unordered x (an array), a backward g, a callback acc, a
// picture, a vmapped y; three calls or many. Sometimes g arrives before x.
import { answerArray, SHAPES } from "./fake_arrays.js";
import { FakeDebugger } from "./fake_debugger.js";
import { fakeFindings } from "./fake_findings.js";
import { fakeCompared, fakeRuns } from "./fake_runs.js";
import { answerSource, FakeWatch } from "./fake_watch.js";
import { pack } from "./pack.js";

const HZ = 30;
const NEWEST_TEXTS = 200;
const LANES = 8;
const DEVICES = ["cpu:0", "cpu:1", "cpu:2", "cpu:3"];

const SITES = [
  { label: "loss", kind: "print", ordered: true, where: "train.py:41", function: "train.<locals>.step" },
  { label: "grad_norm", kind: "print", ordered: true, where: "train.py:44", function: "train.<locals>.step" },
  { label: "x", kind: "print", ordered: false, where: "model.py:17", function: "forward", order: 0 },
  { label: "g", kind: "print", ordered: false, where: "model.py:29", function: "forward", phase: "backward", order: 1 },
  { label: "acc", kind: "callback", ordered: false, where: "train.py:52", function: "evaluate" },
  { label: "picture", kind: "callback", ordered: false, where: "train.py:60", function: "evaluate" },
  { label: "y", kind: "print", ordered: false, where: "model.py:33", function: "head" },
].map((site, i) => ({
  id: i + 1,
  phase: "forward",
  file: site.where.split(":")[0],
  line: Number(site.where.split(":")[1]),
  column: 4,
  source: `    jax.debug.${site.kind}("${site.label} {${site.label}}", ${site.label}=${site.label}, ordered=${site.ordered})`,
  values: [site.label],
  shapes: [SHAPES[site.label] ?? []],
  dtypes: ["float32"],
  order: -1,
  loops: i > 1 ? [null, LANES] : [null],
  name_stack: site.phase === "backward" ? "jit(train)/transpose(jvp())/while/body" : "jit(train)/while/body",
  transforms: site.phase === "backward" ? ["jit", "transpose", "jvp"] : ["jit"],
  ...site,
}));
const [X, G, Y] = [2, 3, 6];
const PATTERN = [0, X, G, 1, X, 0, G, X, 1, 4, G, Y, Y, Y, Y, Y, Y, Y, Y, 5];

const NOTES = [
  "With 22 watched values (1.2 MB a step) programs are expected to take about 1.4 times as long. It is an estimate: " +
    "`%jaxdebug verify F(X)` measures it, and whether the results stay the same to the bit. To pay less name some of " +
    "them (--watch NAMES), or watch every N-th step (--every N).",
  "train.py:41 (loss) fired 1 of 200 times: XLA has moved it out of its loop.",
  "train.py:52 (acc) is muted: `%jaxdebug unmute 5` records it again.",
];

const noise = () => Math.random() + Math.random() + Math.random() - 1.5;
const VALUES = [
  (t) => 2.3 * Math.exp(-t / 95) + 0.12 + 0.03 * noise() * Math.exp(-t / 300),
  (t) => (t % 211 === 210 ? Number.NaN : 3 * Math.exp(-t / 150) + 0.25 * Math.abs(noise())),
  () => 0.4 * noise(),
  (t) => (t % 97 === 96 ? Number.NaN : t % 163 === 162 ? Infinity : 1e-3 * Math.abs(noise())),
  (t) => 1 - 0.9 * Math.exp(-t / 9) + 0.012 * noise(),
  () => 0,
  (t) => Math.sin(t / 160) + 0.06 * (t % LANES) + 0.1 * noise(),
];
const pythonNumber = (y) => (Number.isNaN(y) ? "nan" : y === Infinity ? "inf" : y.toPrecision(5));
const LINES = [
  (y) => `loss ${pythonNumber(y)}`,
  (y) => `grad_norm ${pythonNumber(y)}`,
  (y) => `x [[${y.toFixed(2)} ${(y / 2).toFixed(2)} …]\n   [${(-y).toFixed(2)} 0.33 …]\n   [0.01 0.94 …]] f32[64,128]`,
  (y) => `g ${Number.isFinite(y) ? y.toExponential(3) : pythonNumber(y)}`,
  (y) => `\x1b[32macc\x1b[0m=${pythonNumber(y)}  <b>bold?</b>`,
  () => "picture float32[48,64,3]",
  (y) => `y ${pythonNumber(y)}`,
];

export class FakeKernel {
  /** `rate` is in events a second, `seconds` is the age of the run at the start, `calls` the number of calls. */
  constructor(
    run,
    {
      rate,
      seconds,
      state,
      calls = 1,
      watch = null,
      notes = 0,
      runs = 0,
      findings = 0,
      when = "",
      rename = {},
      title = "train(params, digits, key)",
    },
  ) {
    Object.assign(this, {
      watch: watch && new FakeWatch(SITES.length + 1, watch),
      watchRate: watch?.rate ?? 0,
      prints: 0,
      run,
      rate,
      seconds,
      state,
      title,
      notes,
      when,
      rename,
      lines: [],
      findings: fakeFindings(findings),
      runs: runs > 0 && fakeRuns(run, runs),
      calls: [],
      events: [],
      sent: 0,
      batches: 0,
      listeners: new Map(),
    });
    this.began = performance.now() - 1000 * seconds;
    this.started = (Date.now() - 1000 * seconds) / 1000;
    this.fired = SITES.map(() => 0);
    this.muted = new Set();
    this.callCount = calls;
    this.requests = [];
    this.debugger = new FakeDebugger(this);
    this.model = {
      get: () => "",
      on: (event, listener) => this.listeners.set(event, listener),
      off: (event) => this.listeners.delete(event),
      send: (request) => {
        this.requests.push(request);
        setTimeout(() => this.answer(request), 5);
      },
    };
  }

  start() {
    this.tick();
    if (this.state === "running") this.timer = setInterval(() => this.tick(), 1000 / HZ);
  }

  stop() {
    clearInterval(this.timer);
  }

  end() {
    this.seconds = this.elapsed();
    this.state = "done";
    this.stop();
    this.sendBatch(this.sent);
  }

  tick() {
    const end = Math.floor(this.elapsed() * this.rate);
    // Watched values are not counted in the rate.
    while (!this.debugger.stop && this.prints < end) this.fire();
    while (!this.debugger.stop && this.watch && this.watch.step < this.elapsed() * this.watchRate) this.execute();
    this.sendBatch(this.sent);
    this.sent = this.events.length;
  }

  elapsed() {
    if (this.state !== "running") return this.seconds;
    return (performance.now() - this.began) / 1000;
  }

  fire() {
    const number = this.prints++;
    let site = PATTERN[number % PATTERN.length];
    // Sometimes swaps the first two events of a round.
    if (Math.floor(number / PATTERN.length) % 23 === 7 && number % PATTERN.length < 3)
      site = [0, G, X][number % PATTERN.length];
    if (this.muted.has(site + 1)) site = 0;
    const occurrence = this.fired[site]++;
    const y = VALUES[site](occurrence);
    const lane = site === Y ? occurrence % LANES : -1;
    const call = 3 + Math.floor((this.callCount * number) / Math.max(number + 1, this.rate * 4));
    const points = SHAPES[SITES[site].label] ? [] : [[0, y]];
    const step = site > 1 ? Math.floor(occurrence / LANES) : occurrence;
    const inner = site === X ? occurrence % LANES : -1;
    const device = site === G ? occurrence % DEVICES.length : -1;
    this.events.push({ site, occurrence, y, lane, call, step, inner, device, time: number / this.rate, points });
  }

  /** Executes the body of the loop with watched values once. */
  execute() {
    const { step } = this.watch;
    const about = { call: 3, time: step / this.watchRate, y: 0, step, inner: -1, device: -1 };
    for (const event of this.watch.execute()) {
      // The value that becomes NaN, not the gradients that follow it.
      if (event.points[8]?.[1] > 0)
        this.firstBad ??= { site: event.site + 1, event: this.events.length, nan: false, masked: false };
      this.events.push({ ...event, ...about });
    }
  }

  sendBatch(first, id) {
    const events = this.events.slice(first);
    const points = events.flatMap((event, row) => event.points.map(([value, y]) => ({ row, value, y })));
    const newest = Math.max(0, events.length - NEWEST_TEXTS);
    const { columns, buffer } = pack({
      site: Uint32Array.from(events, (event) => event.site + 1),
      time: Float64Array.from(events, (event) => event.time),
      occurrence: Uint32Array.from(events, (event) => event.occurrence),
      lane: Int32Array.from(events, (event) => event.lane),
      call: Int32Array.from(events, (event) => event.call),
      execution: new Int32Array(events.length).fill(-1),
      step: Int32Array.from(events, (event) => event.step),
      inner: Int32Array.from(events, (event) => event.inner),
      device: Int32Array.from(events, (event) => event.device),
      point_row: Uint32Array.from(points, (point) => point.row),
      point_value: Uint16Array.from(points, (point) => point.value),
      point_y: Float64Array.from(points, (point) => point.y),
      ...this.texts(first + newest, this.events.length, newest),
    });
    const header = { type: "batch", batch: this.batches++, first, count: events.length, oldest: 0, id };
    this.emit(
      {
        ...header,
        columns,
        devices: DEVICES,
        sites: [...SITES.filter((_, i) => this.fired[i] > 0), ...(this.watch?.sites ?? [])],
        calls: this.callMessages(),
        status: this.status(),
      },
      buffer,
    );
  }

  async answer(request) {
    const { type, id, first, count } = request;
    if (type === "sync") this.sendBatch(first, id);
    if (type === "barrier") setTimeout(() => this.emit({ type: "done", id }), 1500);
    if (type === "source") this.emit(answerSource(request));
    if (type === "module") {
      const file = await fetch(new URL(`../../jax_debug_widgets/static/${request.name}.js`, import.meta.url));
      this.emit({ type: "module", id, name: request.name, text: await file.text() });
      return;
    }
    if (type === "watch") {
      const sites = this.watch.sites.filter(({ watch }) => request.names.includes(watch.name)).map((site) => site.id);
      for (const site of sites) this.muted[request.on ? "delete" : "add"](site);
      this.emit({ type: "done", id, sites });
    }
    if (type === "mute") {
      this.muted[request.muted ? "add" : "delete"](request.site);
      this.emit({ type: "done", id });
    }
    if (type === "findings") this.emit({ type: "findings", id, findings: this.findings });
    if (type === "runs" && this.runs) this.emit({ type: "runs", id, rows: this.runs });
    if (type === "compare") this.emit({ type: "compared", id, ...fakeCompared(request.runs) });
    if (type === "array") {
      const { site, occurrence } = this.events[request.event];
      const { content, buffer } = answerArray(SITES[site] ?? { label: "x" }, occurrence, request);
      this.emit(content, buffer);
    }
    if (type !== "rows") return this.debugger.answer(request);
    const { columns, buffer } = pack(this.texts(first, first + Math.min(count, 2000), 0));
    this.emit({ type: "rows", id, first, count, columns }, buffer);
  }

  emit(content, buffer) {
    const renamed = (_, value) => (typeof value === "string" ? this.renamed(value) : value);
    const json = JSON.parse(JSON.stringify({ version: 1, run: this.run, ...content }), renamed);
    this.listeners.get("msg:custom")?.(json, buffer ? [new DataView(buffer)] : []);
  }

  /** Replaces names by names in another script. */
  renamed(text) {
    return Object.entries(this.rename).reduce((all, [name, other]) => all.replaceAll(name, other), text);
  }

  texts(first, end, row) {
    const encoder = new TextEncoder();
    const lines = this.events
      .slice(first, end)
      .map(({ site, y }) => encoder.encode(this.renamed(LINES[site]?.(y) ?? "")));
    let bytes = 0;
    const ends = lines.map((line) => (bytes += line.length));
    const text = new Uint8Array(bytes);
    lines.forEach((line, i) => {
      text.set(line, ends[i] - line.length);
    });
    return { text_row: Uint32Array.from(lines, (_, i) => row + i), text_end: Uint32Array.from(ends), text };
  }

  callMessages() {
    const plain = {
      origin: "cell",
      trace: null,
      lower: null,
      compile: null,
      queued: 0,
      flight: null,
      effects: true,
      ordered: true,
      error: "",
    };
    const early = [
      { id: 1, name: "init", started: 0, trace: 0.0412, lower: 0.011, compile: 0.31, dispatched: 0.37, ready: 0.38 },
      { id: 2, name: "evaluate", started: 0.4, dispatched: 0.4, ready: 0.52, state: "failed", drained: null },
    ].map((call) => ({ ...plain, state: "drained", drained: call.ready, events: 0, effects: false, ...call }));
    early[1].error = "FloatingPointError: nan in grad_norm\n  at train.py:44";
    const each = Math.max(0.2, (this.elapsed() - 0.55) / this.callCount);
    const steps = Array.from({ length: this.callCount }, (_, i) => {
      const started = 0.55 + i * each;
      const over = this.state === "done" || i < this.callCount - 1;
      const stages = i === 0 ? { trace: 0.21, lower: 0.034, compile: Math.min(0.83, each / 2) } : {};
      const ends = { ready: over ? started + 0.8 * each : null, drained: over ? started + 0.95 * each : null };
      const events = Math.floor(this.events.length / this.callCount);
      const state = over ? "drained" : this.state;
      return {
        ...plain,
        id: 3 + i,
        name: "train",
        started,
        ...stages,
        dispatched: started + 0.1,
        ...ends,
        events,
        state,
      };
    });
    return [...early, ...steps];
  }

  status() {
    const pending = this.state === "done" ? [] : ["train"];
    return {
      state: this.state,
      title: this.title,
      started: this.started,
      elapsed: this.elapsed(),
      events: this.events.length,
      rate: this.rate,
      dropped: 0,
      dropped_by_site: {},
      first_nonfinite: this.firstBad ?? null,
      muted: [...this.muted],
      barrier: {
        state: pending.length ? "pending" : "drained",
        pending,
        waited: 0.3,
        timeout: 30,
        waits: [[3.4, 3.8]],
      },
      notes: NOTES.slice(0, this.notes),
      findings: this.findings.length,
      when: this.when,
      lines: this.lines,
      apart: [0, 0],
      breakpoints: this.debugger.breakpoints,
      paused: this.debugger.stop !== null,
      stoppable: this.state === "running",
      commands: "in a thread of their own",
    };
  }
}
