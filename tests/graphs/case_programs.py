"""List programs and the answers that must be given about each.

The questions about programs were designed with this table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A program with a question and the expected answer.

    Attributes:
      id: its name; `row`: its row in docs/behaviours.md.
      asks: the question about it, see `ASK` in test_cases.py.
      source: code that defines `f` and `args`, and `g` if two functions are compared; `#!` marks lines that must be
        named.
      expects: expressions that are true for the answer, `found`; `text` is the printed answer, `lines` are the numbers
        of the marked lines, `module` and `host` are files that an export has written.
      host: the functions that an export leaves for the user to fill in.
      varies: why its traces differ.
    """

    id: str
    row: str
    asks: str
    source: str
    expects: tuple[str, ...]
    host: str = ""
    varies: str = ""

    @property
    def lines(self) -> list[int]:
        """Return the numbers of the lines that must be named."""
        return [number for number, line in enumerate(self.source.splitlines(), 1) if line.endswith("#!")]


_SOFTMAX = """\
def f(x):
    e = jnp.exp(x)  #!
    return e / jnp.sum(e)
def g(x):
    x = x - jnp.max(x)
    e = jnp.exp(x)  #!
    return e / jnp.sum(e)
"""

_EQUAL_OR = "found.equal == np.array_equal(f(*args), jax.jit(f)(*args))"

CASES = (
    Case(
        "cancellation",
        "G1",
        "float64",
        """\
def f(x):
    mean = jnp.mean(x)
    square = jnp.mean(x * x)
    var = square - mean * mean  #!
    return (x - mean) / jnp.sqrt(var + 1e-5)
args = (jnp.asarray(1000 + np.random.default_rng(0).normal(size=32), jnp.float32),)
""",
        (
            "not found.close",
            "found.worst.equation.names == ('var',)",
            "[found.worst.equation.source.line] == lines",
            "found.worst.born >= 1e5 and round(found.worst.digits) == 6",
            "'`var = square - mean * mean` loses 6 digits: relative error 0.078, × 1.3e+06' in text.splitlines()[0]",
        ),
    ),
    Case(
        "division by a constant",
        "G1",
        "op-by-op",
        """\
def f(x):
    return jnp.sum(x) / 5.0  #!
args = (jnp.asarray([0.1, 0.2, 0.3, 0.7, 1.9], jnp.float32) * 3,)
""",
        (
            _EQUAL_OR,
            "found.equal or [found.first.equation.source.line] == lines and found.first.equation.primitive == 'div'",
            "found.equal or found.deciding == ['without the pass algsimp']",
            "not found.equal or (found.cause, found.headline) == ('', 'equal to the bit')",
        ),
    ),
    Case(
        "contraction",
        "G1",
        "op-by-op",
        """\
def f(a, b, c):
    p = a * b  #!
    return p + c
args = tuple(jnp.asarray(np.random.default_rng(0).normal(size=(3, 64)), jnp.float32))
""",
        (
            _EQUAL_OR,  # Some processors have no such instruction.
            "found.equal or (found.cause, found.close, found.first) == ('fusion', True, None)",
            "found.equal or [(one.names, one.source.line) for one in found.pins] == [(('p',), *lines)]",
            "found.equal or 'if `p = a * b` is made apart: product and sum are contracted (FMA)' in found.headline",
            "found.equal or 'LLVM without optimisation' in found.deciding",
            "found.equal or not any(one.differs for one in found.observed)",
            "not found.equal or (found.cause, found.compiles, len(found.pins)) == ('', 1, 0)",
        ),
    ),
    Case(
        "NaN and whole numbers",
        "G1",
        "compare",
        """\
def f(x):
    return jnp.sqrt(x), jnp.argmax(x)
def g(x):
    return jnp.where(x < 0, jnp.nan, jnp.sqrt(jnp.abs(x))), jnp.argmax(x)
args = (jnp.array([-1.0, 4.0]),)
""",
        ("found.equal",),
    ),
    Case(
        "together again",
        "G1",
        "compare",
        _SOFTMAX + "args = (jnp.array([1.0, 1.0, 2.0]),)",
        ("found.close and found.first is None", "any(pair.differs for pair in found.pairs)"),
    ),
    Case(
        "sign",
        "G1",
        "compare",
        """\
def f(p, x):
    h = jnp.tanh(x @ p["w"] + p["b"])  #!
    return jnp.sum(h)
def g(p, x):
    h = jnp.tanh(x @ p["w"] - p["b"])  #!
    return jnp.sum(h)
args = ({"w": jnp.eye(3), "b": jnp.arange(3.0)}, jnp.ones((2, 3)))
""",
        (
            "not found.close and 'f and g: DIFFERENT' in text",
            "(found.first.before.primitive, found.first.after.primitive) == ('add', 'sub')",
            "[found.first.before.source.line, found.first.after.source.line] == lines",
        ),
    ),
    Case(
        "overflow",
        "G1",
        "compare",
        _SOFTMAX + "args = (jnp.array([100.0, 1.0, 2.0]),)",
        (
            "found.first.before.names == found.first.after.names == ('e',)",
            "[found.first.before.source.line, found.first.after.source.line] == lines",
            "found.outputs[0][1].verdict == 'differs' and found.outputs[0][1].nans == (1, 0)",
            "'NaN 1 against 0' in text",
        ),
    ),
    Case(
        "threshold",
        "G1",
        "op-by-op",
        """\
def f(x):
    y = x / 1e9  #!
    return y >= 0.1  # jax#25601
args = (np.float32(0.1e9),)
""",
        (
            _EQUAL_OR,
            "not found.equal and not found.close and found.cause == 'operation'",
            "(found.first.equation.primitive, [found.first.equation.source.line]) == ('div', lines)",
            "found.first.figures[0].ulp == 1 and found.deciding == ['without the pass algsimp']",
            "'div in `y = x / 1e9` is compiled to something else (without the pass algsimp)' in found.headline",
        ),
    ),
    Case(
        "lines of a fusion",
        "G3",
        "linked",
        """\
def f(x, w):
    h = x @ w
    a = jnp.tanh(h)  #!
    b = a * 2.0  #!
    return jnp.sum(b + 1.0)  #!
args = (jnp.ones((64, 64)), jnp.ones((64, 64)))
""",
        (
            # XLA splits a sum by a window that belongs to no equation.
            "all('reduce-window' in one.text for one in found.unlinked)",
            "lines_of(found.fusions) >= set(lines)",
            "len([one for one in found.fusions if one.reads >= 64 * 64 * 4 and lines[1] in lines_of([one])]) == 1",
            "all(one.writes >= 4 for one in found.fusions) and found.exact",
            "re.search(r'lines: case.py:\\d+, .* read · .* written', text)",
        ),
    ),
    Case(
        "a body that is shared",
        "G3",
        "linked",
        """\
@jax.jit
def layer(x):
    return jnp.tanh(x) * 2.0
def f(x):
    return layer(layer(x))
args = (jnp.ones(8),)
""",
        (
            "found.exact and len(of('tanh')) == 2 and set(of('tanh')) <= found.reached and not found.unlinked",
            "[found.equations_of(found.chains[one]) for one in of('tanh')] == [{one} for one in of('tanh')]",
        ),
    ),
    Case(
        "constants",
        "G4",
        "to_folder",
        """\
W = jnp.asarray(np.arange(9.0).reshape(3, 3), jnp.bfloat16)
NARROW = jnp.asarray([1.0, 2.0, 3.0], jnp.float8_e4m3fn)
KEY = jax.random.key(5)
def f(x):
    y = (x.astype(jnp.bfloat16) @ W).astype(jnp.float32)
    return y + jax.random.uniform(KEY, (3,)) + NARROW.astype(jnp.float32)
args = (jnp.ones((2, 3)),)
""",
        (
            "found.is_same",
            "stored(found) == ['KEY.key-threefry2x32', 'NARROW.float8_e4m3fn', 'W.bfloat16']",
            "'W = _constants[\"W\"]  # bfloat16[3,3]' in module",
        ),
    ),
    Case(
        "a rule that calls its function",
        "G4",
        "to_folder",
        """\
@jax.custom_jvp
def safe_log(x):
    return jnp.log(jnp.maximum(x, 1e-6))
@safe_log.defjvp
def _(p, t):
    return safe_log(p[0]), t[0] / jnp.maximum(p[0], 1e-6)
def f(x):
    return jnp.sum(safe_log(x))
args = (jnp.array([0.0, 0.5, 2.0]),)
""",
        (
            "found.is_same and '@safe_log.defjvp' in module",
            "np.allclose(jax.grad(found.function)(*args), [1e6, 2.0, 0.5])",
            "same_bits(jax.grad(found.function)(*args), jax.grad(f)(*args))",
        ),
    ),
    Case(
        "a rule of custom_vjp",
        "G4",
        "to_folder",
        """\
@jax.custom_vjp
def clip_grad(x):
    return x * 1.0
clip_grad.defvjp(lambda x: (x, None), lambda r, g: (jnp.clip(g, -0.1, 0.1),))
def f(x):
    return jnp.sum(clip_grad(x) ** 2)
args = (jnp.array([3.0, -4.0, 0.01]),)
""",
        (
            "found.is_same and 'clip_grad.defvjp(clip_grad_fwd, clip_grad_bwd)' in module",
            "np.allclose(jax.grad(found.function)(*args), [0.1, -0.1, 0.02])",
            "same_bits(jax.grad(found.function)(*args), jax.grad(f)(*args))",
        ),
    ),
    Case(
        "a host function",
        "G4",
        "to_folder",
        """\
def doubled(v):
    return np.asarray(v) * 2
def f(x):
    y = jax.pure_callback(doubled, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    jax.debug.print("y {y}", y=y)
    return y + 1
args = (jnp.arange(3.0),)
""",
        (
            "found.hosts == ['doubled'] and 'fill in doubled in host.py' in text",
            "'jax.debug.print(\"y {y}\", y=y)' in module.replace(\"'\", '\"')",
            # The source of the host function is a comment there.
            "'return np.asarray(v) * 2' in host",
            "found.function(*args).tolist() == [1.0, 3.0, 5.0]",
        ),
        host="def doubled(v):\n    return v * 2\n",
    ),
    Case(
        "keys",
        "G4",
        "to_folder",
        """\
def f(key, x):
    k1, k2 = jax.random.split(key)
    mask = jax.random.bernoulli(k1, 0.5, x.shape)
    return jnp.where(mask, x, 0.0) + jax.random.normal(k2, x.shape)
args = (jax.random.key(0), jnp.ones((3, 2)))
""",
        ("found.is_same", "all(f'jax.random.{one}(' in module for one in ('split', 'bernoulli', 'normal'))"),
    ),
    Case(
        "names",
        "G4",
        "to_folder",
        """\
def f(params, x):
    hidden = jnp.tanh(x @ params["w"] + params["b"])  #!
    logits = hidden * 2.0
    return {"logits": logits, "hidden": hidden}
args = ({"w": jnp.ones((3, 4)) * 0.1, "b": jnp.arange(4.0)}, jnp.ones((2, 3)))
""",
        (
            "found.is_same and not (found.path / 'constants.npz').exists()",
            "'def f(params, x):' in module and \"return {'hidden': hidden, 'logits': logits}\" in module",
            "'    logits = hidden * 2.0' in module and '    hidden = jnp.tanh(' in module",
            "f'# case.py:{lines[0]}  hidden = jnp.tanh(' in module",
        ),
    ),
    Case(
        "optax",
        "G4",
        "to_folder",
        """\
import optax
opt = optax.adamw(1e-2)
P = {"w": jnp.ones((3,)), "b": jnp.zeros(())}
def f(p, s, x):
    g = jax.grad(lambda p: jnp.sum((p["w"] * x + p["b"]) ** 2))(p)
    u, s = opt.update(g, s, p)
    return optax.apply_updates(p, u), s
args = (P, opt.init(P), jnp.arange(3.0))
""",
        ("found.is_same", "jax.tree.structure(found.function(*args)) == jax.tree.structure(f(*args))"),
    ),
    Case(
        "recomputation",
        "G4",
        "to_folder",
        """\
def layer(x, w):
    return jnp.sin(jnp.sin(x @ w))
def loss(w, x):
    return jnp.sum(jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable)(x, w))
f = jax.grad(loss)
args = (jnp.eye(3) * 0.3, jnp.ones((2, 3)))
""",
        (
            "'lax.optimization_barrier(' in module",
            "found.is_same or 'it has other equations, as said below' in text and 'optimization_barrier' in text",
        ),
    ),
    Case(
        "a scan that closes over",
        "G4",
        "to_folder",
        """\
def f(w, xs):
    def step(c, x):
        c = jnp.sin(w @ c + x)
        return c, c[0]
    return lax.scan(step, jnp.zeros(3), xs, reverse=True, unroll=2)
args = (jnp.eye(3), jnp.arange(12.0).reshape(4, 3))
""",
        ("found.is_same", "'def step(c, x):' in module and 'w @ c' in module and 'reverse=True, unroll=2' in module"),
    ),
    Case(
        "a switch beyond its branches",
        "G4",
        "to_folder",
        """\
def f(i, x):
    return lax.switch(i, [jnp.sin, jnp.cos, lambda v: v * 2.0], x)
args = (7, jnp.arange(3.0))
""",
        (
            "found.is_same and 'lax.switch(' in module",
            # The index is clamped once.
            "'clamp' not in module",
            "same_bits(found.function(7, jnp.arange(3.0)), jnp.arange(3.0) * 2)",
        ),
    ),
    Case(
        "value and gradient",
        "G4",
        "to_folder",
        """\
def loss(w, x):
    h = jnp.tanh(w @ x)  #!
    return jnp.sum(h**2)
f = jax.value_and_grad(loss)
args = (jnp.ones((3, 3)) * 0.2, jnp.arange(3.0))
""",
        (
            "found.is_same",
            "f'# backward of case.py:{lines[0]}  h = jnp.tanh(w @ x)' in module",
            "re.findall(r'(?m)^    h = .*?[(]', module) == ['    h = jnp.tanh(']",  # `1 - tanh` is not called `h`.
        ),
    ),
    Case(
        "a while that is vmapped",
        "G4",
        "to_folder",
        """\
def root(a):
    return lax.while_loop(
        lambda s: s[1] * s[1] > a + 1e-3, lambda s: (s[0] + 1, 0.5 * (s[1] + a / s[1])), (0, a + 1.0)
    )
f = jax.vmap(root)
args = (jnp.array([2.0, 9.0, 100.0]),)
""",
        ("'while any lane does' in text", "found.function(*args)[0].tolist() == [4, 5, 7]"),
    ),
    Case(
        "a scan counted as often as it runs",
        "G5",
        "table",
        """\
def f(w, x):
    return lax.scan(lambda c, y: (jnp.tanh(w @ c + y), jnp.sum(c)), x[0], x)
args = (jnp.eye(4), jnp.ones((7, 4)))
""",
        (
            "[(one.times, one.flops, one.depth) for one in rows('dot_general')] == [(7, 32, 1)]",
            "[one.flops_inside.known for one in rows('scan')] == [7 * (32 + 4 + 4 + 4)]",
            "found.flops.known == 7 * (32 + 4 + 4 + 4) and not found.flops.is_open",
            "0 < found.xla_flops < found.flops.known and 'the body of a loop once' in text",
        ),
    ),
    Case(
        "a while of unknown length",
        "G5",
        "table",
        """\
def f(a):
    return lax.while_loop(lambda s: s > 1.0, lambda s: s / 2.0, a)
args = (jnp.float32(9.0),)
""",
        (
            "[one.times for one in rows('gt') + rows('div')] == [None, None]",
            "(found.flops.known, found.flops.is_open) == (0, True)",
            "'? flops' in text.splitlines()[0] and 'known only when it runs' in text",
        ),
    ),
    Case(
        "a gradient",
        "G6",
        "diff",
        """\
def f(x):
    return jnp.sum(jnp.tanh(x) ** 2)  #!
g = jax.value_and_grad(f)
args = (jnp.ones(3),)
""",
        (
            "set(found.counts) == {'same', 'added'} and found.counts['same'] == 3",
            "{one.after.source.line for one in found.of_kind('added')} == set(lines)",
            "re.search(r'\\d added \\(\\d forward, \\d backward\\)', found.headline)",
        ),
    ),
    Case(
        "another activation",
        "G6",
        "diff",
        """\
def f(p, x):
    h = jnp.tanh(x @ p)
    return h @ p
def g(p, x):
    h = jax.nn.relu(x @ p)  #!
    return h @ p
args = (jnp.eye(3), jnp.ones((2, 3)))
""",
        (
            "found.counts == {'same': 2, 'changed': 1}",
            "[one.what[0] for one in found.of_kind('changed')] == ['tanh → max']",
            "[one.before.names + one.after.names for one in found.of_kind('changed')] == [('h', 'h')]",
            "f'case.py:{lines[0]}' in text and '3 → 3 equations: 2 same, 1 changed' in text",
        ),
    ),
    Case(
        "another order",
        "G6",
        "diff",
        """\
def f(x):
    a = jnp.sin(x)
    b = jnp.cos(x)
    return a * b + 1.0
def g(x):
    b = jnp.cos(x)
    a = jnp.sin(x)
    return 1.0 + b * a
args = (jnp.ones(3),)
""",
        (
            "found.is_same and not found.is_in_order",
            "'the same computation: 4 equations, 1 of them in another order' in text",
            "jdw.assert_same_program(f, g, *args) is None",
        ),
    ),
    Case(
        "inside a scan",
        "G6",
        "diff",
        """\
def make(k):
    return lambda x: lax.scan(lambda c, y: (c * k + jnp.sin(y), c), 0.0, x)
f, g = make(0.5), make(0.9)
args = (jnp.arange(4.0),)
""",
        (
            "[(one.kind, one.after.primitive) for one in found] == [('changed', 'scan')]",
            # A cast to the same type is no difference.
            "[inner.counts for inner in found[0].inside] == [{'same': 2, 'changed': 1}]",
            "[one.what for inner in found[0].inside for one in inner.of_kind('changed')] == [('0.5 → 0.9',)]",
            "[one.after.primitive for inner in found[0].inside for one in inner.of_kind('changed')] == ['mul']",
        ),
    ),
    Case(
        "batched",
        "G6",
        "diff",
        """\
def f(x):
    h = jnp.sin(x)
    return jnp.dot(h, h)
g = jax.vmap(f)
args = (jnp.ones(3),)
other_args = (jnp.ones((4, 3)),)
""",
        ("found.counts == {'changed': 2}", "found[0].what == ('float32[3] → float32[4,3]',)"),
    ),
    Case(
        "a counter",
        "G7",
        "traces",
        """\
n = [0]
def f(x):
    n[0] += 1
    return x * n[0]  #!
args = (jnp.ones(3),)
""",
        (
            "found.verdict == 'another program' and found.first.after.primitive == 'mul'",
            "[found.first.after.source.line] == lines",
            "[why.partition(': ')[0] for _, why in found.causes] == ['`n`, which it reads, has changed between the traces']",
            "[one.partition(' → ')[1] for one in found.first.what] == [' → ']",
        ),
        varies="it counts its traces",
    ),
    Case(
        "an order by random hashes",
        "G7",
        "traces",
        """\
import random
class K:
    def __init__(self, v):
        self.v = v
    def __hash__(self):
        return random.randrange(1 << 30)
ks = [K(1.0), K(2.0), K(3.0), K(4.0)]
def f(x):
    r = {k.v: jnp.sin(x + k.v) for k in set(ks)}  #!
    return [r[v] for v in sorted(r)]
args = (jnp.ones(3),)
""",
        (
            # The verdict depends on chance; the cause is named in any case.
            "found.verdict in ('same', 'another order')",
            "found.verdict == 'same' or 'results are equal, but caches miss' in text",
            "[where for where, why in found.causes if 'iterates over a set' in why] == [f'case.py:{lines[0]}']",
        ),
        varies="the order of its equations is drawn",
    ),
    Case(
        "an order by the hash seed",
        "G7",
        "traces",
        """\
NAMES = {"alpha", "beta", "gamma", "delta"}
def f(p):
    s = 0.0
    for k in NAMES:  #!
        s = s + p[k]
    return s
args = ({k: jnp.float32(i + 0.1) for i, k in enumerate(sorted(NAMES))},)
""",
        (
            "found.verdict == 'same'",
            "[where for where, _ in found.causes] == [f'case.py:{lines[0]}']",
            "'iterates over a set, `NAMES`: its order depends on PYTHONHASHSEED' in text",
        ),
    ),
)
