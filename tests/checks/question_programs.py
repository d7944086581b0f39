"""List programs from questions about JAX that people have asked in public, with the line and words of the answer."""

from __future__ import annotations

from tests.checks.case_programs import Case

QUESTIONS = (
    Case(
        "gradient_is_nan",
        "S11",
        """\
def soft(x):
    root = jnp.sqrt(x)  #!
    return jnp.where(x < 1.0, x, root).sum()
jax.jit(jax.value_and_grad(soft))(jnp.array([0.0, 0.5, 4.0]))
""",
        says=("derivative", "jnp.sqrt(x)", "infinite", "[0]"),
        fix=("jnp.where(is_safe, x",),
        check="nonfinite",
    ),
    Case(
        "compiles_again_for_a_new_model",
        "S14",
        """\
import equinox as eqx
class Curve(eqx.Module):
    weight: jax.Array
    act: object
    def __init__(self, act):
        self.weight = jnp.ones(2)
        self.act = jax.jit(act)
    def __call__(self, x):
        return self.act(self.weight * x)
@eqx.filter_jit
def step(model, x):
    return model(x)
for restart in range(3):
    model = Curve(lambda z: jnp.tanh(z))
    for _ in range(2):
        step(model, jnp.ones(2))  #!
""",
        says=("`step` was traced 3 times", ".act`: another", "Make it once"),
        check="retraces",
    ),
    Case(
        "changed_attribute_of_a_static_self",
        "S2",
        """\
from functools import partial
class Objective:
    def __init__(self, target):
        self.target = target
    @partial(jax.jit, static_argnums=0)
    def compute(self, x):
        err = x - self.target  #!
        return jnp.sum(err**2)
o = Objective(1.0)
x = jnp.array([1.0, 2.0])
o.compute(x)
o.target = 5.0
o.compute(x)
""",
        says=("1.0 was used although `self.target` is now 5.0",),
        check="stale",
    ),
    Case(
        "who_kept_the_tracer",
        "S3",
        """\
class Layer:
    def __init__(self):
        self.last_norm = 0.0
    def __call__(self, h):
        norm = jnp.linalg.norm(h)
        self.last_norm = norm
        return h / norm
layer = Layer()
@jax.jit
def rollout(h):
    return lax.scan(lambda h, _: (layer(h), None), h, length=3)[0]
rollout(jnp.array([3.0, 4.0]))
layer.last_norm * 2  #!
""",
        says=("`layer.last_norm` holds a value", "made at who_kept_the_tracer.py:5"),
        raises="UnexpectedTracerError",
        check="leaks",
    ),
    Case(
        "which_value_of_a_shape_is_traced",
        "S10",
        """\
@jax.jit
def pack(x, longest):
    pad = longest - x.shape[0]
    filler = jnp.zeros((pad, x.shape[1]))  #!
    return jnp.concatenate([x, filler])
pack(jnp.ones((3, 2)), 5)
""",
        says=("`longest` is an argument of pack", "static_argnames='longest'"),
        raises="TypeError",
        check="oob",
    ),
    Case(
        "last_rows_of_the_cache_are_wrong",
        "S6",
        """\
@jax.jit
def decode(cache, table):
    def body(carry, _):
        cache, pos = carry
        row = table.at[pos].get(mode="clip")
        cache = lax.dynamic_update_slice(cache, row[None], (pos, 0))  #!
        return (cache, pos + 1), row
    return lax.scan(body, (cache, 0), length=6)
decode(jnp.zeros((4, 2)), jnp.arange(8.0).reshape(4, 2))
""",
        says=("index 4 is outside axis 0 (size 4), step 4", "nearest element was written", "2 indices"),
        check="oob",
    ),
    Case(
        "noise_and_proposal_are_correlated",
        "S8",
        """\
@jax.jit
def chain(key, pos):
    def body(carry, _):
        key, pos = carry
        noise = jax.random.normal(key, pos.shape)
        other = jax.random.normal(key, pos.shape)  #!
        key, _unused = jax.random.split(key)
        return (key, pos + noise - other), noise
    return lax.scan(body, (key, pos), length=3)
chain(jax.random.key(0), jnp.zeros(2))
""",
        says=("already draws at noise_and_proposal_are_correlated.py:5", "split"),
        check="keys",
    ),
    Case(
        "step_below_float32_is_no_step",
        "S12",
        """\
@jax.jit
def polish(x):
    eps = jnp.asarray(1e-9, dtype=jnp.float64)  #!
    return (x + eps - x) / eps
polish(1.5)
""",
        says=("float64 was asked for; float32 is used", "jax_enable_x64"),
        check="x64",
    ),
    Case(
        "data_of_the_host_arrives_as_float32",
        "S12",
        """\
data = np.linspace(0.9, 1.1, 5)
polish = jax.jit(lambda x, data: x - data)
polish(1.5, data)  #!
""",
        says=("float64 came as `data`; float32 is used", "relative error"),
        check="x64",
    ),
    Case(
        "parameters_come_back_as_float64",
        "S14",
        """\
with jax.enable_x64(True):
    @jax.jit
    def update(p, g):  #!
        scale = np.sqrt(1 - 0.999)
        return p - jnp.float32(0.1) * scale * g
    p = g = jnp.ones(3, jnp.float32)
    for _ in range(2):
        p = update(p, g)
""",
        says=("`p`: float32[3] → float64[3]", "NumPy number is float64"),
        check="retraces",
    ),
    Case(
        "which_carry_changes_its_type",
        "S9",
        """\
@jax.jit
def gae(values, rewards):
    def body(carry, inp):
        adv = inp + 0.9 * carry["adv"]
        return {"adv": adv, "n": carry["n"] + 1.0}, adv
    return lax.scan(body, {"adv": 0.0, "n": 0.0}, rewards)  #!
gae(jnp.ones((4, 3)), jnp.ones((4, 3)))
""",
        says=("`carry['adv']` float32[] → float32[3]", "jnp.full((3,), ..., jnp.float32)"),
        raises="TypeError",
        check="oob",
    ),
    Case(
        "who_gave_the_buffer_away",
        "S5",
        """\
step = jax.jit(lambda state, x: {"w": state["w"] - x}, donate_argnums=0)
state = {"w": jnp.ones(3)}
step(state, jnp.ones(3))
state["w"] + 1  #!
""",
        says=("`state['w']`", "was donated"),
        raises="RuntimeError",
        check="oob",
    ),
    Case(
        "checks_of_a_batch_whose_loop_ends_lane_by_lane",
        "S9",
        """\
from jax.experimental import checkify
def drain(n, value):
    def body(c):
        checkify.check(c[1] > 0, "value must be positive, is {v}", v=c[1])
        return c[0] - 1, c[1] - 1
    return lax.while_loop(lambda c: c[0] > 0, body, (n, value))[1]
n, v = jnp.array([1, 2, 3]), jnp.array([5, 1, 4])
err, out = jax.jit(checkify.checkify(jax.vmap(drain)))(n, v)  #!
""",
        says=("checkify is outside of a vmap", "err, out = jax.jit(jax.vmap(checkify.checkify(drain)))(n, v)"),
        raises="ValueError",
        check="oob",
    ),
)
