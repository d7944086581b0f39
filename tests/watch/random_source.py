"""Generate random Python functions as text, for tests of watched names.

Which value a watched name shows depends on how the source is written.
"""

from __future__ import annotations

from hypothesis import strategies as st

HEADER = [
    "from typing import NamedTuple",
    "",
    "import jax",
    "import jax.numpy as jnp",
    "",
    "",
    "class State(NamedTuple):",
    "    pos: jax.Array",
    "    vel: jax.Array",
    "",
    "",
    "def gated(a, b):  # Of a helper that is called from several places each call has its own values.",
    "    g = jnp.tanh(a)",
    "    o = g * b",
    "    return o",
    "",
    "",
    "def paired(a, b):",
    "    u = a * 0.7 + b",
    "    v = jnp.sin(u)",
    "    return u, v",
    "",
    "",
    "def nested(a, b):",
    "    s = a - b * 0.4",
    "    return jnp.cos(s), (s * jnp.cos(a), b + 1.0)",
    "",
    "",
    "@jax.custom_vjp",
    "def clipped(a, b):",
    "    return jnp.sin(a) * b",
    "",
    "",
    "def clipped_forward(a, b):",
    "    f = jnp.sin(a)",
    "    return f * b, (a, b, f)",
    "",
    "",
    "def clipped_backward(kept, ct):",
    "    a, b, f = kept",
    "    i = ct * jnp.cos(a) * b",
    "    j = jnp.clip(i, -0.5, 0.5)",
    "    return j, ct * f",
    "",
    "",
    "clipped.defvjp(clipped_forward, clipped_backward)",
    "",
    "",
    "@jax.custom_jvp",
    "def ruled(a, b):",
    "    return jnp.tanh(a) + b",
    "",
    "",
    "@ruled.defjvp",
    "def ruled_rule(primals, tangents):",
    "    (a, b), (da, db) = primals, tangents",
    "    l = jnp.tanh(a)",
    "    return l + b, (1 - l**2) * da + db",
    "",
    "",
    "def product(a, b):",
    "    return (jnp.sin(a) * b).sum()",
    "",
    "",
]
NOTED = {"    g = jnp.tanh(a)": "g", "    o = g * b": "o", "    u = a * 0.7 + b": "u", "    v = jnp.sin(u)": "v",
         "    s = a - b * 0.4": "s"}  # fmt: skip
"""The names that the helper functions assign."""

PLAIN = [
    "jnp.tanh({a})",
    "jnp.sin({a}) * {b}",
    "{a} * 0.5",
    "{a} ** 2 * 0.3",
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} + jnp.cos({b})",
    "{a} / (1.0 + {b} ** 2)",
    "jax.nn.gelu({a})",
    "jax.nn.relu({a}) + {b}",
    "-{a}",
    "{a} @ p['w'] * 0.3",
    "{a} + {b} @ p['v'] * 0.3",
    "{a} + p['bias'][None]",
    "{a} * x",
    "{a} * {a}.mean()",
    "{a} - {a}.mean(-1, keepdims=True)",
    "jax.nn.softmax({a})",
    "jnp.where({a} > 0, {a}, {b})",
    "gated({a}, {b})",
    "gated({a}, {b}) + {a}",
]
"""Expressions of arrays with one common shape: only exact code tells their values apart."""

HIGHER = [
    "jax.jit(gated)({a}, {b})",
    "jax.checkpoint(gated)({a}, {b})",
    "vmap(gated)({a}, {b})",
    "cond(p['w'].sum() > 0, gated, lambda a, b: a - b, {a}, {b})",
    "clipped({a}, {b})",
    "ruled({a}, {b})",
    "jax.grad(product)({a}, {b})",
]

PAIRS = [
    "jnp.split({a} @ p['u'], 2, axis=-1)",
    "paired({a}, {b})",
    "jnp.sin({a}), {b} * 0.4",
    "{a} + {b}, {a} - {b}",
    "jax.checkpoint(paired)({a}, {b})",
    "jax.jit(paired)({a}, {b})",
    "vmap(paired)({a}, {b})",
    "cond(p['v'].sum() > 0, paired, lambda a, b: (b, a * 2), {a}, {b})",
    "jax.grad(product, argnums=(0, 1))({a}, {b})",
    "jax.grad(product, argnums=(1, 0))({a}, {b})",
    "jax.value_and_grad(product, argnums=(0, 1))({a}, {b})[1]",
]


class Source:
    """A module under construction, plain and with a note of each value.

    For example `h = tanh(x)` and `h = tanh(x); h = at(3, 'h', h)`.
    """

    def __init__(self, draw):
        self.draw, self.plain, self.noted, self.indent, self.count = draw, list(HEADER), list(HEADER), "", 0
        for number, text in enumerate(HEADER, 1):
            self.noted[number - 1] += noted(number, NOTED.get(text, ""))

    def line(self, text, names=(), noting=None):
        """Add a line of source.

        `names` are noted after the line. `noting` replaces the line in the noted source, if it must note values inside
        the line.
        """
        self.plain.append(self.indent + text)
        self.noted.append(self.indent + (noting or text) + noted(len(self.plain), names))

    def one_of(self, choices):
        return self.draw(st.sampled_from(choices))

    def expression(self, templates, known):
        return self.one_of(templates).format(a=self.one_of(known[-3:]), b=self.one_of(known))

    def statements(self, known, least, most, depth):
        """Add some statements; return the names that are known after them."""
        kinds = [self.plainly] * 4 + [self.augmented, self.annotated, self.walrus, self.pair, self.nested, self.rest]
        kinds += [self.higher, self.dictionary, self.object, self.pulled_back]
        if depth:
            kinds += [self.loop, self.scan, self.scan, self.fori]
        known = list(known)
        for _ in range(self.draw(st.integers(least, most))):
            known += self.one_of(kinds)(known, *self.draw(st.permutations("hkqrz"))[:3])
        return known

    def plainly(self, known, target, *_):
        self.line(f"{target} = {self.expression(PLAIN, known)}", [target])
        return [target]

    def annotated(self, known, target, *_):
        self.line(f"{target}: jax.Array = {self.expression(PLAIN, known)}", [target])
        return [target]

    def higher(self, known, target, *_):
        self.line(f"{target} = {self.expression(HIGHER, known)}", [target])
        return [target]

    def augmented(self, known, *_):
        target = self.one_of([one for one in known if "." not in one and one != "m[0]"])
        self.line(f"{target} {self.one_of(['+', '-', '*'])}= {self.expression(PLAIN, known)}", [target])
        return [target]

    def walrus(self, known, target, other, _):
        first, second = self.expression(PLAIN, known), self.expression(PLAIN, known)
        text = f"{target} = ({other} := {{}}) * 0.5 + {second}"
        noting = text.format(f"at({len(self.plain) + 1}, {other!r}, {first})")
        self.line(text.format(first), [target], noting)
        return [other, target]

    def pair(self, known, target, other, _):
        self.line(f"{target}, {other} = {self.expression(PAIRS, known)}", [target, other])
        return [other, target]

    def nested(self, known, target, other, third):
        call = self.expression(["nested({a}, {b})", "jax.jit(nested)({a}, {b})", "vmap(nested)({a}, {b})"], known)
        self.line(f"{target}, ({other}, {third}) = {call}", [target, other, third])
        return [other, third, target]

    def rest(self, known, target, *_):
        self.line(f"{target}, *m = {self.expression(PAIRS, known)}", [target, "m"])
        return ["m[0]", target]

    def pulled_back(self, known, target, other, _):
        function = self.one_of(["clipped", "ruled", "lambda a, b: a * b + jnp.cos(a)"])
        self.line(f"o, pull_back = jax.vjp({self.expression([f'{function}, {{a}}, {{b}}'], known)})", ["o"])
        self.line(f"{target}, {other} = pull_back({self.one_of(known)})", [target, other])
        return ["o", other, target]

    def dictionary(self, known, *_):
        self.line(f"d = {{'l': {self.expression(PLAIN, known)}, 'r': {self.expression(PLAIN, known)}}}", ["d"])
        return ["d['l']", "d['r']"]

    def object(self, known, *_):
        parts = self.expression(PLAIN, known), self.expression(PLAIN, known)
        self.line(self.one_of(["e = State({}, {})", "e = State(vel={1}, pos={0})"]).format(*parts), ["e"])
        return ["e.pos", "e.vel"]

    def loop(self, known, *_):
        rounds = self.draw(st.integers(2, 3))
        is_counted = self.draw(st.booleans())
        if is_counted:
            self.line("n = 0")
        self.line(f"while n < {rounds}:" if is_counted else f"for _ in range({rounds}):")
        outer, self.indent = self.indent, self.indent + "    "
        if is_counted:
            self.line("n += 1")
        for _ in range(self.draw(st.integers(1, 2))):
            target = self.one_of([one for one in known if one.isidentifier()])
            self.line(f"{target} = {self.expression(PLAIN[:-2], known)}", [target])
        self.indent = outer
        return []

    def fori(self, known, last, *_):
        self.count += 1
        self.line(f"def body{self.count}(i, c):")
        outer, self.indent = self.indent, self.indent + "    "
        inner = self.statements(["c"], 1, 3, 0)[-3:]
        self.line(f"return jnp.tanh({self.one_of(inner)})")
        self.indent = outer
        self.line(f"{last} = fori(0, 3, body{self.count}, {self.one_of(known)})", [last])
        return [last]

    def scan(self, known, last, all_of, _):
        self.count += 1
        name = f"body{self.count}"
        first, second = (self.one_of(known) for _ in "ab")
        decorator = self.one_of(["", "", "@jax.checkpoint", "@jax.jit"])
        if decorator:
            self.line(decorator)
        self.line(f"def {name}(c, t):")
        outer, self.indent = self.indent, self.indent + "    "
        inner = self.statements(["c", "t"], 1, 4, 0)[-3:]
        self.line(f"return {self.one_of(inner)}, {self.one_of(inner)}")
        self.indent = outer
        self.line(f"{last}, ys = scan({name}, {first}, jnp.stack([{first}, {second}, {second} * 0.5]))", [last, "ys"])
        self.line(f"{all_of} = ys.sum(0)", [all_of])
        return [all_of, last]


def noted(line, names):
    return "".join(f"; {name} = at({line}, {name!r}, {name})" for name in names)


@st.composite
def sources(draw):
    """Draw a module with `loss(p, x)`, plain and noted."""
    source = Source(draw)
    source.line("def loss(p, x):")
    source.indent = "    "
    source.line("y = x * 1.5", ["y"])
    known = source.statements(["y"], 3, 8, depth=1)
    source.line(
        f"total = ({source.one_of(known[-3:])} * {source.one_of(known)} + {source.one_of(known)}).sum()", ["total"]
    )
    source.line("return total")
    return "\n".join(source.plain) + "\n", "\n".join(source.noted) + "\n"
