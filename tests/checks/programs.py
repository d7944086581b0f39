"""List programs that raise an exception of JAX, with the faulty line and the words of the explanation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A program; `#!` marks the faulty line, and `says` are words of the explanation."""

    name: str
    row: str
    source: str
    says: tuple[str, ...]

    @property
    def line(self) -> int:
        return next(number for number, line in enumerate(self.source.splitlines(), 1) if "#!" in line)


RAISING = (
    Program("assigned", "S5", "x = jnp.zeros((3, 3))\nx[1, :] = 1.0  #!", ("x = x.at[1, :].set(1.0)",)),
    Program("added", "S5", "d = {'w': jnp.zeros(3)}\nd['w'][0] += 5.  #!", ("d['w'] = d['w'].at[0].add(5.0)",)),
    Program(
        "nested",
        "S5",
        "def f(x, i):\n    x[i][1:] *= 2.  #!\n    return x\njax.jit(f)(jnp.ones((3, 3)), 1)",
        ("x = x.at[i].set(x[i].at[1:].multiply(2.0))",),
    ),
    Program("unpacked", "S5", "x = jnp.arange(3.)\nx[0], y = x[1], 2  #!", ("x = x.at[0].set(new_0)",)),
    Program("of a list", "S7", "out = jnp.sum([1, 2, 3])  #!", ("jnp.sum(jnp.array([1, 2, 3]))",)),
    Program(
        "if",
        "S9",
        "@jax.jit\ndef f(x):\n    if x > 0:  #!\n        y = x\n    else:\n        y = -x\n    return y\nf(1.)",
        ("y = jnp.where(x > 0, x, -x)", "NaN"),
    ),
    Program(
        "while",
        "S9",
        "@jax.jit\ndef f(x):\n    while x < 10:  #!\n        x = x * 2\n    return x\nf(1.)",
        ("lax.while_loop(unfinished, body, x)",),
    ),
    Program(
        "for",
        "S9",
        "@jax.jit\ndef f(x, n):\n    for k in range(n):  #!\n        x = x + k\n    return x\nf(1., 3)",
        ("fori_loop(0, n, body, x)",),
    ),
    Program(
        "if of an array",
        "S9",
        "@jax.jit\ndef relu(x):\n    if x > 0:  #!\n        return x\n    return 0.0\nrelu(jnp.ones(2))",
        ("an answer for each element", "return jnp.where(x > 0, x, 0.0)"),
    ),
    Program(
        "while of an array",
        "S9",
        "x = jnp.ones(2)\nwhile x < 3:  #!\n    x = x * 2",
        ("an answer for each element", "jnp.any"),
    ),
    Program(
        "condition of a loop that is an array",
        "S9",
        "out = jax.lax.while_loop(lambda x: x < 3, lambda x: x + 1, jnp.zeros(2))  #!",
        ("an answer for each element", "jnp.any"),
    ),
    Program(
        "condition of a branch that is an array",
        "S9",
        "x = jnp.ones(2)\nout = jax.jit(lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x))(x)  #!",
        ("an answer for each element", "jnp.where"),
    ),
    Program(
        "a part of a statement",
        "S10",
        "@jax.jit\ndef f(x, g):\n    total = 2 * jax.ops.segment_sum(x, g)  #!\n    return total\n"
        "f(jnp.ones(3), jnp.arange(3))",
        ("the shape of `jax.ops.segment_sum(x, g)` depends", "num_segments=N"),
    ),
    Program("float", "S9", "f = jax.jit(lambda x: float(x))  #!\nf(1.)", ("Python needs the value",)),
    Program("numpy", "S9", "@jax.jit\ndef f(x):\n    y = np.sin(x)  #!\n    return y\nf(1.)", ("y = jnp.sin(x)",)),
    Program(
        "mask, reduced later",
        "S10",
        "def nansum(x):\n    mask = ~jnp.isnan(x)\n    kept = x[mask]  #!\n    return kept.sum()\n"
        "jax.jit(nansum)(jnp.array([1., jnp.nan]))",
        ("kept = jnp.where(mask, x, 0)",),
    ),
    Program(
        "mask, reduced there",
        "S10",
        "def f(x):\n    y = jnp.mean(x[x > 0])  #!\n    return y\njax.jit(f)(jnp.ones(3))",
        ("jnp.mean(x, where=x > 0)",),
    ),
    Program(
        "nonzero", "S10", "@jax.jit\ndef f(x):\n    i, = jnp.nonzero(x)  #!\n    return i\nf(jnp.ones(3))", ("size=N",)
    ),
    Program(
        "shape",
        "S10",
        "@jax.jit\ndef pack(x, longest):\n    pad = longest - x.shape[0]\n    return jnp.zeros((pad, 2))  #!\n"
        "pack(jnp.ones(3), 5)",
        ("`longest`", "static_argnames='longest'"),
    ),
    Program(
        "number of elements",
        "S10",
        "@jax.jit\ndef grid(x, n):\n    return jnp.linspace(0., 1., n) * x  #!\ngrid(1., 5)",
        ("the shape of", "static_argnames='n'"),
    ),
    Program(
        "slice",
        "S10",
        "@jax.jit\ndef head(x, n):\n    return x[:n].sum()  #!\nhead(jnp.ones(5), 2)",
        ("the shape of", "static_argnames='n'", "dynamic_slice_in_dim"),
    ),
    Program(
        "carry",
        "S9",
        "def f(rewards):\n    def body(c, r):\n        return {'adv': c['adv'] + r}, r\n"
        "    return jax.lax.scan(body, {'adv': 0.0}, rewards)  #!\nf(jnp.ones((4, 3)))",
        ("adv", "float32[]", "float32[3]"),
    ),
    Program(
        "donated",
        "S5",
        "step = jax.jit(lambda s: s * 2, donate_argnums=0)\ns = {'w': jnp.ones(3)}\nstep(s['w'])\ny = s['w'] + 1  #!",
        ("`s['w']` was donated", "donate"),
    ),
    Program(
        "two donated",
        "S5",
        "step = jax.jit(lambda a, b: (a * 2, b * 2), donate_argnums=(0, 1))\na, b = jnp.ones(3), jnp.ones(3)\nstep(a, b)\n"
        "y = a + b  #!",
        ("`a`, `b` were donated",),
    ),
    Program(
        "static",
        "S14",
        "f = jax.jit(lambda x, n: x, static_argnums=1)\nf(1., [1, 2])  #!",
        ("list", "tuple"),
    ),
    Program(
        "static by its name",
        "S14",
        "f = jax.jit(lambda x, sizes: x, static_argnames='sizes')\nf(1., sizes=[1, 2])  #!",
        ("`sizes` of type list",),
    ),
    Program(
        "carry of two axes",
        "S9",
        "def f(x):\n    return jax.lax.scan(lambda c, r: (c + r, r), jnp.zeros(3), x)  #!\nf(jnp.ones((2, 4, 3)))",
        ("`c` float32[3] → float32[4,3]",),
    ),
    Program(
        "carry that is None",
        "S9",
        "def body(i, b):\n    b.at[i].set(1.0)\nout = jax.lax.fori_loop(0, 3, body, jnp.zeros(3))  #!",
        ("an array → None", "Return the new carry"),
    ),
    Program(
        "carry with another key",
        "S9",
        "def f(xs):\n    body = lambda c, x: ({**c, 'last': x}, x)\n    return jax.lax.scan(body, {'sum': 0.0}, xs)  #!\n"
        "f(jnp.ones(3))",
        ("`c` dict with 1 child → dict with 2 children",),
    ),
    Program(
        "no pair",
        "S9",
        "out = jax.lax.scan(lambda c, x: c + x, 0.0, jnp.ones(3))  #!",
        ("float32[], and no pair", "a pair"),
    ),
    Program(
        "key and size",
        "S10",
        "@jax.jit\ndef noise(key, n):\n    return jax.random.normal(key, (n, 2))  #!\nnoise(jax.random.key(0), 3)",
        ("static_argnames='n'",),
    ),
    Program(
        "number of repeats",
        "S10",
        "@jax.jit\ndef f(x, n):\n    return jnp.repeat(x, n)  #!\nf(jnp.ones(2), jnp.array([1, 2]))",
        ("total_repeat_length=N",),
    ),
    Program("deleted item", "S5", "a = jnp.arange(4)\ndel a[0]  #!", ("a = jnp.delete(a, 0, axis=0)",)),
    Program(
        "read-only", "S5", "a = np.asarray(jnp.ones((3, 2)))[1:]\na[0] = 3.0  #!", ("a = np.array(a)", "np.asarray")
    ),
    Program("out", "S5", "a = jnp.arange(3.)\njnp.add(a, 1.0, out=a)  #!", ("a = jnp.add(a, 1.0)",)),
    Program("fill", "S5", "a = jnp.arange(3.)\na.fill(2.0)  #!", ("a = jnp.full_like(a, 2.0)",)),
    Program(
        "append",
        "S5",
        "@jax.jit\ndef f(a):\n    a.append(2.0)  #!\n    return a\nf(jnp.ones(3))",
        ("a = jnp.append(a, 2.0)",),
    ),
    Program(
        "item", "S9", "@jax.jit\ndef f(x):\n    return x.sum().item() * 2  #!\nf(jnp.ones(3))", ("return x.sum() * 2",)
    ),
    Program(
        "math", "S9", "import math\n@jax.jit\ndef f(x):\n    return math.exp(-x)  #!\nf(1.)", ("return jnp.exp(-x)",)
    ),
    Program(
        "item of a list",
        "S9",
        "rates = [1., 2.]\n@jax.jit\ndef f(i):\n    return rates[i]  #!\nf(1)",
        ("return jnp.array(rates)[i]",),
    ),
    Program(
        "function of a list",
        "S9",
        "fs = [jnp.sin, jnp.cos]\n@jax.jit\ndef f(i, x):\n    return fs[i](x)  #!\nf(1, 2.)",
        ("return jax.lax.switch(i, fs, x)",),
    ),
    Program(
        "key of a dictionary",
        "S9",
        "d = {0: 1.}\n@jax.jit\ndef f(i):\n    return d[i]  #!\nf(0)",
        ("static_argnames='i'",),
    ),
    Program("format", "S9", "@jax.jit\ndef f(x):\n    s = f'{x:.2f}'  #!\n    return x\nf(1.)", ("jax.debug.print",)),
    Program(
        "branches",
        "S9",
        "@jax.jit\ndef f(x):\n    return jax.lax.cond(x > 0, lambda v: v, lambda v: 0, x)  #!\nf(1.)",
        ("float32[] of true_fun, int32[] of false_fun", "0.0 for 0"),
    ),
    Program(
        "structures of branches",
        "S9",
        "@jax.jit\ndef f(x):\n    return jax.lax.cond(x > 0, lambda v: (v, v), lambda v: v, x)  #!\nf(1.)",
        ("different types",),
    ),
    Program(
        "text as an argument",
        "S9",
        "f = jax.jit(lambda x, reduction: x)\nf(1., 'mean')  #!",
        ("`reduction` is of type str", "static_argnames='reduction'"),
    ),
    Program("large number", "S12", "f = jax.jit(lambda n: n + 1)\nf(2**31)  #!", ("not fit int32", "jax_enable_x64")),
    Program("large number in an array", "S12", "x = jnp.array([2**40])  #!", ("1099511627776 does not fit int32",)),
    Program(
        "leaked",
        "S3",
        "saved = []\n@jax.jit\ndef f(x):\n    saved.append(x)\n    return x\nf(1.)\ny = saved[0] + 1  #!",
        ("saved[0]", "trace that is over"),
    ),
)
