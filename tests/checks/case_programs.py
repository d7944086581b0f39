"""List programs for the checks: what must be found in each, and similar programs in which nothing is wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A program with the expected finding.

    Attributes:
      id: its name; `row`: its row in docs/behaviours.md.
      says, fix: words that the finding must have, in its text and in its fix.
      raises: the exception that JAX raises.
      near_miss: whether nothing is wrong with it.
      check: the checks that find it.
    """

    id: str
    row: str
    source: str
    says: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    raises: str = ""
    near_miss: bool = False
    check: str = "all"

    @property
    def line(self) -> int:
        """Return the line of the finding; 0 for a near miss."""
        return next((number for number, line in enumerate(self.source.splitlines(), 1) if "#!" in line), 0)


CASES = (
    Case(
        "S1a",
        "S1",
        """\
log = []
@jax.jit
def f(x):
    log.append(x.shape)  #!
    return x * 2
f(jnp.ones(3)); f(jnp.ones(3))
""",
        says=("log", "traced"),
    ),
    Case(
        "S1b",
        "S1",
        """\
class M:
    calls = 0
    def __call__(self, x):
        self.calls += 1  #!
        return x
m = M()
jax.jit(lambda x: m(x))(1.)
""",
        says=("calls", "0", "1"),
    ),
    Case(
        "S1c",
        "S1",
        """\
@jax.jit
def f(x):
    return x + np.random.rand()  #!
f(1.); f(1.)
""",
        says=("np.random",),
        fix=("jax.random",),
    ),
    Case(
        "S1d",
        "S1",
        """\
import time
@jax.jit
def f(x):
    return x * 0 + time.time()  #!
f(1.)
""",
        says=("time.time",),
    ),
    Case(
        "S1n1",
        "S1",
        """\
@jax.jit
def f(x):
    s = dict(even=0, odd=0)
    for i in range(10): s['even' if i % 2 == 0 else 'odd'] += x
    return s['even'] + s['odd']
f(5.)
""",
        near_miss=True,
    ),
    Case(
        "S1n2",
        "S1",
        """\
import functools
@functools.lru_cache
def table(n): return np.arange(n) * 1.
@jax.jit
def f(x): return x + table(3).astype(np.float32)
f(jnp.ones(3))
""",
        near_miss=True,
    ),
    Case(
        "S1 cached property",
        "S1",
        """\
import functools
class Model:
    @functools.cached_property
    def mask(self): return np.tril(np.ones((3, 3), np.float32))
    def __call__(self, x): return x @ self.mask
m = Model()
jax.jit(lambda x: m(x))(jnp.ones(3))
""",
        near_miss=True,
    ),
    Case(
        "S3 cached property",
        "S3",
        """\
import functools
class Model:
    @functools.cached_property
    def mask(self): return jnp.tril(jnp.ones((3, 3)))  #!
    def __call__(self, x): return x @ self.mask
m = Model()
jax.jit(lambda x: m(x))(jnp.ones(3))
""",
        says=("m.mask",),
    ),
    Case(
        "S2a",
        "S2",
        """\
g = 0.
@jax.jit
def f(x):
    return x + g  #!
f(4.)
g = 10.
f(5.)
""",
        says=("0.0", "`g`", "10.0"),
        fix=("f(x, g)",),
    ),
    Case(
        "S2b",
        "S2",
        """\
cfg = {'lr': .1}
@jax.jit
def f(x):
    return x * cfg['lr']  #!
f(4.)
cfg['lr'] = .5
f(4.)
""",
        says=("cfg['lr']", "0.1", "0.5"),
    ),
    Case(
        "S2c",
        "S2",
        """\
class M:
    def __init__(self): self.scale = 2.
    def step(self, x): return x * self.scale  #!
m = M(); f = jax.jit(m.step)
f(1.)
m.scale = 3.
f(1.)
""",
        says=("scale", "2.0", "3.0"),
    ),
    Case(
        "S2d",
        "S2",
        """\
def make():
    k = [1.]
    @jax.jit
    def f(x): return x + k[0]  #!
    return f, k
f, k = make()
f(1.)
k[0] = 2.
f(1.)
""",
        says=("k[0]", "1.0", "2.0"),
    ),
    Case(
        "S2e",
        "S2",
        """\
other = 1
def helper(x): return x * other  #!
@jax.jit
def f(x): return helper(x)
f(1.)
other = 2
f(1.)
""",
        says=("other", "1", "2"),
    ),
    Case(
        "S2n1",
        "S2",
        """\
cfg = {'lr': .1, 'name': 'a'}
@jax.jit
def f(x): return x * cfg['lr']
f(1.)
cfg['name'] = 'b'
f(1.)
""",
        near_miss=True,
    ),
    Case(
        "S2n2",
        "S2",
        """\
g = 1.
@jax.jit
def f(x): return x + g
f(1.)
g = 1.
f(2.)
""",
        near_miss=True,
    ),
    Case(
        "S2n3",
        "S2",
        """\
g = 0.
@jax.jit
def f(x): return x + g
f(4.)
g = 10.
f(jnp.array([4.]))
""",
        near_miss=True,
    ),
    Case(
        "S3a",
        "S3",
        """\
saved = None
@jax.jit
def f(x):
    global saved
    saved = jnp.sin(x)  #!
    return x
f(1.)
""",
        says=("saved", "float32[]"),
    ),
    Case(
        "S3b",
        "S3",
        """\
class Layer:
    def __call__(self, x):
        self.last = x * 2  #!
        return self.last
class Net:
    def __init__(self): self.layers = [Layer()]
    def __call__(self, x): return self.layers[0](x)
net = Net()
jax.jit(lambda x: net(x))(1.)
""",
        says=("net.layers[0].last",),
    ),
    Case(
        "S3c",
        "S3",
        """\
import functools
@functools.lru_cache
def table(n): return jnp.arange(n) * 1.  #!
@jax.jit
def f(x): return x + table(3)
f(jnp.ones(3))
""",
        says=("table", "lru_cache"),
    ),
    Case(
        "S3n1",
        "S3",
        """\
@jax.jit
def f(x):
    d = {}; d['me'] = d; d['x'] = x
    return x
f(1.)
""",
        near_miss=True,
    ),
    Case(
        "S4a",
        "S4",
        """\
it = iter(range(10))
out = lax.fori_loop(0, 10, lambda i, x: x + next(it), 0)  #!
""",
        says=("next(it)", "once"),
        fix=("jnp.array(list(it))",),
    ),
    Case(
        "S4b",
        "S4",
        """\
it = iter(range(10))
lax.cond(True, lambda x: next(x) + 1, lambda x: next(x) - 1, it)  #!
""",
        says=("iterator", "cond"),
        raises="TypeError",
    ),
    Case(
        "S4n1",
        "S4",
        """\
xs = jnp.arange(10)
out = lax.fori_loop(0, 10, lambda i, x: x + xs[i], 0)
""",
        near_miss=True,
    ),
    Case(
        "S4n2",
        "S4",
        """\
fs = [jnp.sin, jnp.cos]
@jax.jit
def f(x):
    for g in iter(fs): x = g(x)
    return x
f(1.)
""",
        near_miss=True,
    ),
    Case(
        "S5a",
        "S5",
        """\
x = jnp.zeros((3, 3))
x[1, :] = 1.0  #!
""",
        fix=("x = x.at[1, :].set(1.0)",),
        raises="TypeError",
    ),
    Case(
        "S5b",
        "S5",
        """\
d = {'w': jnp.zeros(3)}
d['w'][0] += 5.  #!
""",
        fix=("d['w'] = d['w'].at[0].add(5.0)",),
        raises="TypeError",
    ),
    Case(
        "S5c",
        "S5",
        """\
def f(x, i):
    x[i][1:] *= 2.  #!
    return x
jax.jit(f)(jnp.ones((3, 3)), 1)
""",
        fix=("x = x.at[i].set(x[i].at[1:].multiply(2.0))",),
        raises="TypeError",
    ),
    Case(
        "S5d",
        "S5",
        """\
x = jnp.arange(3.)
x[0], y = x[1], 2  #!
""",
        fix=("x = x.at[0].set(new_0)",),
        raises="TypeError",
    ),
    Case(
        "S5n1",
        "S5",
        """\
x = np.zeros(3)
x[0] = 1.
""",
        near_miss=True,
    ),
    Case(
        "S6a",
        "S6",
        """\
def f(x, i):
    return x[i]  #!
args = jnp.arange(10.), 11
out = jax.jit(f)(*args)
""",
        says=("11", "size 10", "nearest"),
        fix=("x.at[i].get(",),
    ),
    Case(
        "S6b",
        "S6",
        """\
def f(x, ids):
    def row(r):
        def body(c, i):
            return c + x[i], None  #!
        return lax.scan(body, 0., r)[0]
    return jax.vmap(row)(ids)
args = jnp.arange(10.), jnp.array([[1, 2], [3, 12]])
out = jax.jit(f)(*args)
""",
        says=("12", "step 1", "lane 1"),
    ),
    Case(
        "S6c",
        "S6",
        """\
def loss(x, ids):
    return (x[ids] ** 2).sum()  #!
f = jax.grad(loss)
args = jnp.arange(10.), jnp.array([1, -11])
out = jax.jit(f)(*args)
""",
        says=("-11",),
    ),
    Case(
        "S6d",
        "S6",
        """\
def f(x, i):
    return x.at[i].set(5.)  #!
args = jnp.arange(10.), jnp.array([3, 10])
out = jax.jit(f)(*args)
""",
        says=("10", "dropped"),
    ),
    Case(
        "S6e",
        "S6",
        """\
def f(x, i):
    return lax.dynamic_slice(x, (i,), (3,))  #!
args = jnp.arange(10.), 8
out = jax.jit(f)(*args)
""",
        says=("8", "moved to 7"),
    ),
    Case(
        "S6f",
        "S6",
        """\
def f(x):
    return lax.while_loop(lambda s: s[0] < 14, lambda s: (s[0] + 3, s[1] + x[s[0]]), (0, 0.))  #!
args = jnp.arange(10.),
out = jax.jit(f)(*args)
""",
        says=("12", "step 4"),
    ),
    Case(
        "S6g",
        "S6",
        """\
def f(x, i):
    return jnp.take_along_axis(x, i, -1)  #!
args = jnp.ones((3, 5)), jnp.array([[1], [7], [2]])
out = jax.jit(f)(*args)
""",
        says=("7", "axis 1", "size 5"),
    ),
    Case(
        "S6n1",
        "S6",
        """\
def f(x, i): return x[i] + x.at[i].add(1.)[i]
args = jnp.arange(10.), -10
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S6n2",
        "S6",
        """\
def f(x, i): return x.at[i].get(mode='fill', fill_value=0.) + x.at[i].set(1., mode='drop').sum()
args = jnp.arange(10.), 11
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S6n3",
        "S6",
        """\
def f(x, i): return lax.cond(i < 10, lambda: x[i], lambda: 0.)
args = jnp.arange(10.), 11
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S6n4",
        "S6",
        """\
def f(x): return jnp.sort(x)[::-1] + jnp.interp(x, x, x) + jnp.searchsorted(x, x)
args = jnp.arange(10.),
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S6n5",
        "S6",
        """\
def f(x): return x[3:20]
args = jnp.arange(10.),
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S7a",
        "S7",
        """\
f = jax.jit(lambda x: jnp.sum(jnp.array(x)))
f(list(range(50)))  #!
""",
        says=("50",),
        fix=("jnp.array(",),
    ),
    Case(
        "S7b",
        "S7",
        """\
out = jnp.sum([1, 2, 3])  #!
""",
        fix=("jnp.sum(jnp.array([1, 2, 3]))",),
        raises="TypeError",
    ),
    Case(
        "S7n1",
        "S7",
        """\
f = jax.jit(lambda ps: sum(p.sum() for p in ps))
f([jnp.ones(3)] * 20)
""",
        near_miss=True,
    ),
    Case(
        "S8a",
        "S8",
        """\
def f(k):
    a = random.normal(k, (3,))
    return a + random.uniform(k, (3,))  #!
args = random.key(0),
out = jax.jit(f)(*args)
""",
        says=("again",),
        fix=("split",),
    ),
    Case(
        "S8b",
        "S8",
        """\
def f(k):
    a, b = random.split(k)
    return random.normal(a) + random.normal(k)  #!
args = random.PRNGKey(0),
out = jax.jit(f)(*args)
""",
        says=("again", "splits"),
    ),
    Case(
        "S8c",
        "S8",
        """\
def f(k):
    return lax.fori_loop(0, 5, lambda i, s: s + random.normal(k), 0.)  #!
args = random.PRNGKey(0),
out = jax.jit(f)(*args)
""",
        says=("5 iterations",),
        fix=("fold_in",),
    ),
    Case(
        "S8d",
        "S8",
        """\
def f(k):
    def body(c, _):
        k, s = c
        return (k, s + random.normal(k)), s  #!
    return lax.scan(body, (k, 0.), None, length=4)[0][1]
args = random.key(0),
out = jax.jit(f)(*args)
""",
        says=("4 iterations",),
    ),
    Case(
        "S8n1",
        "S8",
        """\
def f(k):
    def body(c, _):
        k, s = c
        k, sub = random.split(k)
        return (k, s + random.normal(sub)), s
    return lax.scan(body, (k, 0.), None, length=4)[0][1]
args = random.PRNGKey(0),
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S8n2",
        "S8",
        """\
def f(k): return lax.cond(True, lambda: random.normal(k), lambda: random.uniform(k))
args = random.key(0),
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S8n3",
        "S8",
        """\
def f(k): return random.poisson(k, 3., (2,)) + random.gamma(random.fold_in(k, 1), 2.).astype(int)
args = random.key(0),
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S9a",
        "S9",
        """\
@jax.jit
def f(x):
    if x > 0:  #!
        y = x
    else:
        y = -x
    return y
f(1.)
""",
        fix=("y = jnp.where(x > 0, x, -x)",),
        raises="TracerBoolConversionError",
    ),
    Case(
        "S9b",
        "S9",
        """\
@jax.jit
def f(x):
    while x < 10:  #!
        x = x * 2
    return x
f(1.)
""",
        fix=("lax.while_loop",),
        raises="TracerBoolConversionError",
    ),
    Case(
        "S9c",
        "S9",
        """\
@jax.jit
def f(x, n):
    for k in range(n):  #!
        x = x + k
    return x
f(1., 3)
""",
        fix=("fori_loop(0, n, body, x)",),
        raises="TracerIntegerConversionError",
    ),
    Case(
        "S10a",
        "S10",
        """\
def nansum(x):
    mask = ~jnp.isnan(x)
    x_without_nans = x[mask]  #!
    return x_without_nans.sum()
jax.jit(nansum)(jnp.array([1., jnp.nan]))
""",
        fix=("jnp.where(mask, x, 0)",),
        raises="NonConcreteBooleanIndexError",
    ),
    Case(
        "S11a",
        "S11",
        """\
def norm(x):
    return jnp.sqrt((x ** 2).sum())  #!
f = jax.grad(norm)
args = jnp.zeros(3),
out = jax.jit(f)(*args)
""",
        says=("derivative", "sqrt"),
    ),
    Case(
        "S11b",
        "S11",
        """\
def f(x):
    def body(c, _):
        c = c * 100.
        return c, jnp.exp(c)  #!
    return lax.scan(body, x, None, length=5)[1].sum()
args = 0.01,
out = jax.jit(f)(*args)
""",
        says=("exp", "step"),
    ),
    Case(
        "S11n1",
        "S11",
        """\
def f(s): return jax.nn.softmax(jnp.where(jnp.array([True, False]), s, -jnp.inf))
args = jnp.ones(2),
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S12a",
        "S12",
        """\
w = np.array([.1, .2])
f = jax.jit(lambda a: a * 2)
f(w)  #!
""",
        says=("float64", "float32"),
        fix=("jax_enable_x64",),
    ),
    Case(
        "S12b",
        "S12",
        """\
x = jnp.asarray(np.array([1, 2**40]))  #!
""",
        says=("int64", "wrapped", "1099511627776"),
    ),
    Case(
        "S12n1",
        "S12",
        """\
x = jnp.ones(3) * .1 + np.float32(.2)
y = x[np.array([0, 1])]
""",
        near_miss=True,
    ),
    Case(
        "S13a",
        "S13",
        """\
def f(x):
    return x.astype(jnp.uint8)  #!
args = jnp.arange(254., 258.),
out = jax.jit(f)(*args)
""",
        says=("2 value", "uint8", "256"),
    ),
    Case(
        "S13n1",
        "S13",
        """\
def f(x): return jnp.floor(x).astype(jnp.int32) + (x > 0).astype(jnp.uint8)
args = jnp.arange(256.),
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S14a",
        "S14",
        """\
@jax.jit
def f(p, x): return p['w'] * x
for n in range(3, 7): f({'w': 1.}, jnp.ones(n))  #!
""",
        says=("4 times", "`x`", "float32[3]"),
    ),
    Case(
        "S14b",
        "S14",
        """\
for k in range(3): jax.jit(lambda x: x + 1)(1.)  #!
""",
        says=("3 times", "new function object"),
    ),
    Case(
        "S14c",
        "S14",
        """\
import functools
@functools.partial(jax.jit, static_argnames='n')
def f(x, n): return x * n
for n in range(4): f(1., n)  #!
""",
        says=("static `n`",),
    ),
    Case(
        "S14n1",
        "S14",
        """\
f = jax.jit(lambda x: x + 1)
for k in range(3): f(jnp.float32(k))
f(np.float32(1.))
""",
        near_miss=True,
    ),
    Case(
        "S15a",
        "S15",
        """\
def f(x):
    return jnp.nanargmin(x)  #!
args = jnp.array([jnp.nan, jnp.nan]),
out = jax.jit(f)(*args)
""",
        says=("-1", "NumPy raises"),
    ),
    Case(
        "S15n1",
        "S15",
        """\
def f(x): return jnp.nanargmin(x)
args = jnp.array([jnp.nan, 1.]),
out = jax.jit(f)(*args)
""",
        near_miss=True,
    ),
    Case(
        "S11 chosen",
        "S11",
        """\
def kl(p, q):
    ratio = p / q  #!
    return jnp.where(p > 0, p * jnp.log(ratio), 0.0).sum()
out = jax.jit(jax.vmap(kl))(jnp.array([[.5, .5], [1., 0.]]), jnp.array([[.5, .5], [0., 1.]]))
""",
        says=("`p / q` is inf", "lane 1"),
    ),
    Case(
        "S11 chosen in a scan",
        "S11",
        """\
def body(c, x):
    s = jnp.where(x > -5, jnp.sqrt(x), 0.)  #!
    return c + s, s
out = jax.jit(lambda x: lax.scan(body, 0., x))(jnp.array([1., -2., -7.]))
""",
        says=("sqrt(-2) = NaN", "step 1"),
    ),
    Case(
        "S11 not chosen",
        "S11",
        """\
def f(x, is_on):
    y = jnp.where(x > 0, jnp.log(x), -jnp.inf)
    return jnp.exp(y).sum() + jnp.where(is_on, jnp.log(-x).sum(), 0.)
out = jax.jit(f)(jnp.array([0., 1.]), False)
""",
        near_miss=True,
    ),
    Case(
        "S11 handled",
        "S11",
        """\
def f(x, y):
    r = x / y
    return jnp.nan_to_num(r).sum() + jnp.nanmean(r) + jnp.where(jnp.isnan(r) | jnp.isinf(r), 0., r).sum()
out = jax.jit(f)(jnp.array([0., 1.]), jnp.array([0., 1.]))
""",
        near_miss=True,
    ),
    Case(
        "S6 chosen",
        "S6",
        """\
def f(table, ids):
    rows = table[ids]  #!
    return jnp.where((ids >= 0)[:, None], rows, 0.)
out = jax.jit(f)(jnp.ones((4, 2)), jnp.array([1, 5, -9]))
""",
        says=("index 5",),
    ),
    Case(
        "S6 not chosen",
        "S6",
        """\
def f(table, ids, is_on):
    rows = jnp.where((ids < 4)[:, None], table[ids], 0.)
    return rows.sum() + jnp.where(is_on, table[ids[0] + 9, 0], 0.)
out = jax.jit(f)(jnp.ones((4, 2)), jnp.array([1, 5, 9]), False)
""",
        near_miss=True,
    ),
    Case(
        "S13 chosen",
        "S13",
        """\
def f(x):
    q = x.astype(jnp.int8)  #!
    return jnp.where(x > 0, q, 0)
out = jax.jit(f)(jnp.array([-500., 500.]))
""",
        says=("1 value does not fit int8, the first is 500",),
    ),
    Case(
        "S13 bits",
        "S13",
        """\
def f(x):
    return (x.astype(jnp.uint32) * jnp.uint32(2654435761) >> 16).astype(jnp.uint8)
out = jax.jit(f)(jnp.arange(5))
""",
        near_miss=True,
    ),
)
