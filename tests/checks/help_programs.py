"""List programs of people who asked for help: errors and NaNs whose explanation names the way that the answer took."""

from __future__ import annotations

from tests.checks.case_programs import Case

HELP = (
    Case(
        "size_in_a_helper",
        "S10",
        """\
def grid(n):
    return jnp.linspace(0, 1, n)  #!
@jax.jit
def scaled(count, scale):
    return grid(count) * scale
scaled(5, 2.0)
""",
        says=("`n` is argument `count` of scaled", "jax.jit(scaled, static_argnames='count')"),
        raises="ConcretizationTypeError",
        check="oob",
    ),
    Case(
        "size_that_a_helper_is_given",
        "S10",
        """\
def grid(n):
    return jnp.linspace(0, 1, n)  #!
@jax.jit
def scaled(count):
    return grid(count + 1)
scaled(5)
""",
        says=("`n` is computed in scaled, which JAX traces",),
        raises="ConcretizationTypeError",
        check="oob",
    ),
    Case(
        "size_of_a_lane",
        "S10",
        """\
parts = jnp.ones((40, 2))
def first(i):
    return parts[jnp.arange(i)].sum(axis=0)  #!
jax.vmap(first)(jnp.array([3, 4]))
""",
        says=("`i` has another value in each lane of jax.vmap", "jnp.where(jnp.arange(largest) < n, x, 0)"),
        raises="ConcretizationTypeError",
        check="oob",
    ),
    Case(
        "size_of_a_step",
        "S10",
        """\
lengths = jnp.array([3, 2, 1])
data = jnp.arange(12.0).reshape(6, 2)
def body(i, total):
    size = lengths[i]
    return total + lax.dynamic_slice_in_dim(data, 0, size).sum()  #!
lax.fori_loop(0, 3, body, 0.0)
""",
        says=("`i` has another value in each step of jax.lax.fori_loop",),
        raises="TracerIntegerConversionError",
        check="oob",
    ),
    Case(
        "pairs_by_number",
        "S9",
        """\
pairs = [[j, i] for j in range(3) for i in range(2)]
x = jnp.arange(12.0).reshape(4, 3)
def picked(n):
    j, i = pairs[n]  #!
    return x[j, i]
jax.vmap(picked)(jnp.arange(6))
""",
        fix=("j, i = jnp.array(pairs)[n]",),
        raises="TracerIntegerConversionError",
        check="oob",
    ),
    Case(
        "table_by_number",
        "S9",
        """\
table = {0: 1.0, 1: 2.0}
@jax.jit
def picked(i):
    return table[int(i)]  #!
picked(1)
""",
        fix=("return jnp.array(list(table.values()))[i]",),
        raises="ConcretizationTypeError",
        check="oob",
    ),
    Case(
        "size_as_int",
        "S9",
        """\
@jax.jit
def zeros(x):
    return jnp.zeros(int(x * 2))  #!
zeros(2.0)
""",
        says=("The program must contain the choice itself. `x` is an argument of zeros",),
        raises="ConcretizationTypeError",
        check="oob",
    ),
    Case(
        "number_of_distinct_values",
        "S10",
        """\
@jax.jit
def scaled(volume, x):
    n = jnp.unique(volume).size  #!
    return x * n
scaled(jnp.array([0, 1, 1]), 2.0)
""",
        fix=("n = 1 + jnp.count_nonzero(jnp.diff(jnp.sort(jnp.ravel(volume))))",),
        raises="ConcretizationTypeError",
        check="oob",
    ),
    Case(
        "steps_until_it_is_small",
        "S9",
        """\
@jax.jit
def root(x):
    err = 1.0
    while err > 1e-3:  #!
        new = 0.5 * (x + 2.0 / x)
        err = jnp.abs(new - x)
        x = new
    return x
root(1.0)
""",
        fix=("err, x = jax.lax.while_loop(unfinished, body, (err, x))",),
        raises="TracerBoolConversionError",
        check="oob",
    ),
    Case(
        "special_function",
        "S9",
        """\
from scipy.special import gammaln
from scipy import stats
@jax.jit
def likelihood(k, rate):
    return k * jnp.log(rate) - gammaln(k + 1) + stats.norm.logpdf(k)  #!
likelihood(jnp.arange(3.0), 2.0)
""",
        fix=("k * jnp.log(rate) - jax.scipy.special.gammaln(k + 1) + jax.scipy.stats.norm.logpdf(k)",),
        raises="TracerArrayConversionError",
        check="oob",
    ),
    Case(
        "raise_in_a_condition",
        "S9",
        """\
@jax.jit
def checked(x):
    if jnp.any(jnp.isnan(x)):  #!
        raise ValueError
    return x * 2
checked(jnp.ones(3))
""",
        says=("jax.experimental.checkify.check",),
        raises="TracerBoolConversionError",
        check="oob",
    ),
    Case(
        "values_in_place_of_branches",
        "S9",
        """\
@jax.jit
def bent(x):
    return lax.cond(x > 0, x * 2.0, x - 1.0)  #!
bent(1.0)
""",
        says=("is given values, and no functions",),
        fix=("return lax.cond(x > 0, lambda: x * 2.0, lambda: x - 1.0)",),
        raises="TypeError",
        check="oob",
    ),
    Case(
        "carry_of_one_number",
        "S9",
        """\
def step(state, x):
    level, trend = state  #!
    return (level + trend, trend), level
lax.scan(step, 1.0, jnp.arange(3.0))
""",
        says=("`state` is one number, and no 2 values", "begin with a tuple"),
        raises="TypeError",
        check="oob",
    ),
    Case(
        "method_of_an_object",
        "S9",
        """\
class Model:
    @jax.jit
    def predict(self, x):
        return x
Model().predict(jnp.ones(3))  #!
""",
        says=("`self` is of type __main__.Model", "register_dataclass"),
        raises="TypeError",
        check="oob",
    ),
    Case(
        "array_as_a_setting",
        "S14",
        """\
f = jax.jit(lambda x: jnp.arange(-x, x), static_argnums=0)
n = jnp.add(4, 1)
f(n)  #!
""",
        says=("`n` of type", "is static and cannot be hashed", "int(x)"),
        raises="ValueError",
        check="oob",
    ),
    Case(
        "sorted_values",
        "S9",
        """\
f = jax.jit(lambda x: sorted(x)[0])  #!
f(jnp.array([3.0, 1.0]))
""",
        fix=("f = jax.jit(lambda x: jnp.sort(x)[0])",),
        raises="TracerBoolConversionError",
        check="oob",
    ),
    Case(
        "spread_of_equal_values",
        "S11",
        """\
def loss(w):
    y = w * jnp.ones(4)
    return jnp.std(y, axis=0)  #!
jax.jit(jax.grad(loss))(2.0)
""",
        says=("derivative of `jnp.std(y, axis=0)`",),
        fix=("x = jnp.var(y, axis=0)", "jnp.where(is_safe, jnp.sqrt(jnp.where(is_safe, x, 0.5)), 0.0)"),
        check="nonfinite",
    ),
    Case(
        "angle_at_the_origin",
        "S11",
        """\
def angle(p):
    return jnp.arctan2(p[1], p[0])  #!
jax.jit(jax.grad(angle))(jnp.zeros(2))
""",
        fix=("is_safe = (p[1] != 0) | (p[0] != 0)", "jnp.where(is_safe, p[0], 1.0)"),
        check="nonfinite",
    ),
    Case(
        "angle_of_equal_vectors",
        "S11",
        """\
def angle(c):
    return jnp.arccos(c)  #!
jax.jit(jax.grad(angle))(-1.0)
""",
        fix=("jnp.arccos(jnp.clip(c, -1 + 1e-6, 1 - 1e-6))",),
        check="nonfinite",
    ),
    Case(
        "vectors_of_equal_eigenvalues",
        "S11",
        """\
def first(a):
    w, v = jnp.linalg.eigh(a)  #!
    return jnp.sum(v[:, 0] * w)
jax.jit(jax.grad(first))(jnp.eye(3))
""",
        says=("Eigenvalues (for svd: singular values) are equal there",),
        check="nonfinite",
    ),
    Case(
        "logarithm_of_a_softmax",
        "S11",
        """\
def loss(logits):
    return -jnp.log(jax.nn.softmax(logits))[0]  #!
jax.jit(jax.grad(loss))(jnp.array([-200.0, 0.0, 100.0]))
""",
        fix=("jax.nn.log_softmax(logits)",),
        check="nonfinite",
    ),
    Case(
        "infinity_that_is_left_out",
        "S11",
        """\
def chosen(x):
    return jnp.where(x > 0, 0, x * jnp.inf)  #!
jax.jit(jax.grad(chosen))(1.0)
""",
        says=("0 * inf is NaN, in a derivative also where jnp.where leaves the product out",),
        check="nonfinite",
    ),
    Case(
        "argument_by_keyword",
        "S14",
        """\
@jax.jit
def doubled(x):  #!
    return x * 2
for call in (lambda: doubled(1.0), lambda: doubled(x=1.0), lambda: doubled(jnp.ones(3))):
    call()
""",
        says=("`x` is passed by position → by keyword", "the same way in each call"),
        check="retraces",
    ),
    Case(
        "default_by_or",
        "S9",
        """\
@jax.jit
def scaled(x, y=None):
    z = x or y  #!
    return z * 2
scaled(1.0)
""",
        fix=("z = x if x is not None else y",),
        raises="TracerBoolConversionError",
        check="oob",
    ),
    Case(
        "one_or_the_other",
        "S9",
        """\
@jax.jit
def chosen(x, y):
    return x or y  #!
chosen(1.0, 2.0)
""",
        fix=("return jnp.where(x != 0, x, y)",),
        raises="TracerBoolConversionError",
        check="oob",
    ),
    Case(
        "both_flags",
        "S9",
        """\
@jax.jit
def both(x, y):
    return x and y  #!
both(True, False)
""",
        fix=("return x & y",),
        raises="TracerBoolConversionError",
        check="oob",
    ),
    Case(
        "flag_of_a_layer",
        "S9",
        """\
from flax import linen
class Layer(linen.Module):
    @linen.compact
    def __call__(self, x, train):
        if train:  #!
            x = x * 2
        return x
jax.jit(Layer().apply)({}, jnp.ones(3), train=True)
""",
        says=("`train` is argument `kwargs['train']` of apply", "jax.jit(apply, static_argnames='train')"),
        fix=("x = jnp.where(train, x * 2, x)",),
        raises="TracerBoolConversionError",
        check="oob",
    ),
    Case(
        "field_of_a_module",
        "S5",
        """\
import equinox as eqx
class Net(eqx.Module):
    w: jax.Array
net = Net(jnp.ones(3))
net.w += 1  #!
""",
        says=("cannot change a frozen object",),
        fix=("net = eqx.tree_at(lambda tree: tree.w, net, net.w + 1)",),
        raises="FrozenInstanceError",
        check="oob",
    ),
    Case(
        "field_of_a_state",
        "S5",
        """\
import dataclasses
from flax import struct
@struct.dataclass
class State:
    w: jax.Array
state = State(jnp.ones(3))
state.w = jnp.zeros(3)  #!
""",
        fix=("state = dataclasses.replace(state, w=jnp.zeros(3))",),
        raises="FrozenInstanceError",
        check="oob",
    ),
    Case(
        "method_of_a_module_in_a_loop",
        "S9",
        """\
import equinox as eqx
class Cell(eqx.Module):
    w: jax.Array
    def step(self, c, x):
        return c + x * self.w, None
    def __call__(self, xs):
        return lax.scan(self.step, jnp.zeros(2), xs)[0]  #!
eqx.filter_jit(Cell(jnp.ones(2)))(jnp.ones((3, 2)))
""",
        says=("is given the method of an object that holds traced arrays",),
        fix=("return lax.scan(lambda *args: self.step(*args), jnp.zeros(2), xs)[0]",),
        raises="TypeError",
        check="oob",
    ),
    Case(
        "update_at_a_mask",
        "S10",
        """\
@jax.jit
def clipped(x):
    return x.at[x < 0].set(0)  #!
clipped(jnp.arange(-2, 2))
""",
        says=("return jnp.where(x < 0, 0, x)",),
        raises="NonConcreteBooleanIndexError",
        check="oob",
    ),
    Case(
        "update_at_a_mask_of_rows",
        "S10",
        """\
@jax.jit
def doubled(x, rows):
    x = x.at[rows].multiply(x[rows] + 1.0)  #!
    return x
doubled(jnp.ones((3, 2)), jnp.array([True, False, True]))
""",
        says=("x = jnp.where(rows[..., None], x * (x + 1.0), x)",),
        raises="NonConcreteBooleanIndexError",
        check="oob",
    ),
    Case(
        "update_at_a_mask_with_other_numbers",
        "S10",
        """\
@jax.jit
def filled(x, mask, new):
    return x.at[mask].set(new)  #!
filled(jnp.ones(3), jnp.array([True, False, True]), jnp.ones(2))
""",
        says=("Keep the full shape and mask values",),
        raises="NonConcreteBooleanIndexError",
        check="oob",
    ),
    Case(
        "key_reuse_that_jax_refuses",
        "S8",
        """\
with jax.debug_key_reuse(True):
    key = random.key(0)
    a = random.uniform(key)
    b = random.uniform(key)  #!
""",
        says=("random.uniform(key)` uses a key again", "k1, k2 = jax.random.split(key)"),
        raises="KeyReuseError",
        check="oob",
    ),
)
