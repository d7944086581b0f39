"""Hold the texts of all explanations by kind: headline, why, and advice, with `{…}` to be filled in."""

from __future__ import annotations

from dataclasses import dataclass

from jax_debug_widgets.checks.kinds import Kind


@dataclass(frozen=True)
class FindingText:
    """The texts of a kind of finding; `headline` comes after the place and a colon."""

    headline: str
    why: str
    advice: str = ""


WORDS = {
    Kind.IN_PLACE: FindingText(
        "`{code}` cannot change a JAX array",
        "JAX arrays do not change. `.at[...]` gives a changed copy; under jit XLA does it in place.",
    ),
    Kind.FROZEN: FindingText(
        "`{code}` cannot change a frozen object",
        "Modules of equinox and frozen dataclasses do not change, as arrays do not. A changed copy takes their place.",
    ),
    Kind.CONTROL_FLOW: FindingText(
        "Python needs the value of `{code}` while JAX traces",
        "Python decides this once, at trace time, when the value is not known yet. The program must contain the choice itself.",
        "Use jnp.where for values, jax.lax.cond for branches, jax.lax.while_loop or fori_loop for loops; or make an argument "
        "that is a setting static: jax.jit(f, static_argnames=...).",
    ),
    Kind.TRUTH: FindingText(
        "`{code}` has an answer for each element",
        "Python's `if`, `while`, `and`, `or` and `not` need one answer, and this array has several.",
        "Choose for each element with jnp.where(condition, x, y); or make one answer: jnp.any(...) or jnp.all(...).",
    ),
    Kind.SHAPE: FindingText(
        "the shape of `{code}` depends on values",
        "Shapes must be known while JAX traces. How many elements there are is known only when the program runs.",
        "Keep the full shape and mask values with jnp.where(mask, x, neutral); or give an upper bound: "
        "jnp.nonzero(mask, size=N).",
    ),
    Kind.LIST: FindingText(
        "`{code}` is given a list where an array belongs",
        "JAX does not convert lists: a list of n numbers would be n operands of the program.",
    ),
    Kind.ITERATOR_OPERAND: FindingText(
        "`{code}` is given an iterator where an array belongs",
        "JAX traces the function once: `next` would run once, and an iterator has no shape and no dtype.",
        "Make an array of it, xs = jnp.array(list(it)), and index it, or scan over it.",
    ),
    Kind.NUMPY_CALL: FindingText(
        "NumPy needs the value of `{code}` while JAX traces",
        "NumPy computes at once, and a traced array has no value yet. jax.numpy puts the operation into the program.",
        "Call the function of the same name in jax.numpy; or compute with NumPy before the jitted function.",
    ),
    Kind.LEAK: FindingText(
        "`{code}` uses a value of a trace that is over",
        "A traced function has stored a tracer outside of the function, in a global, an attribute or a list. A tracer has "
        "no value and lives only while its function is traced.",
        "Return the value from the traced function, and store what the call returns.",
    ),
    Kind.OUTER_STATE: FindingText(
        "`{code}` {names} that was made outside of this trace",
        "The traced function does not have the module as an argument, so a change would store a tracer in it. "
        "Dropout and BatchNorm change their state at each call.",
        "Pass the module as an argument, under flax's own transformation, which gives the changes back: nnx.jit(f)(model, x), "
        "nnx.grad(f)(model, x). Or return the value, and store it where the function is called.",
    ),
    Kind.DONATED: FindingText(
        "{names} donated",
        "A jitted function with donate_argnums has used its memory for a result, so it cannot be read again.",
        "Use the result of that call instead; or keep a copy before the call: jnp.copy(x); or do not donate this argument.",
    ),
    Kind.KEY_REFUSED: FindingText(
        "`{code}` uses a key again",
        "It was used before, and the same key gives the same numbers.",
        "Split it first: k1, k2 = jax.random.split(key); or say that it is meant: jax.random.clone(key).",
    ),
    Kind.DONATED_TWICE: FindingText(
        "{names} are one array, donated twice",
        "Both leaves are one buffer, and only one result can use its memory.",
        "Copy one of them before the call: jnp.copy(x); or do not donate this argument.",
    ),
    Kind.CARRY: FindingText(
        "the carry of the loop changes its type: {names}",
        "Each iteration must return the carry with the shapes and dtypes that it received.",
        "Begin with the type that the body returns: {names}.",
    ),
    Kind.BRANCHES: FindingText(
        "the branches return different types{names}",
        "Both branches are in the program, and its result has one type: the same structure, shapes and dtypes.",
        "Let each branch return the same: convert with .astype(...), or return jnp.zeros_like(...) of the other result. "
        "A Python number has the dtype int32 or float32: write 0.0 for 0 beside a float.",
    ),
    Kind.HASHED: FindingText(
        "`{code}` is given the method of an object that holds traced arrays",
        "JAX hashes the functions that it is given, and with a method its object. A traced array has no hash.",
        "Pass a lambda that calls the method.",
    ),
    Kind.UNCALLED: FindingText(
        "`{code}` is given values, and no functions",
        "jax.lax.cond takes two functions, and calls one of them. A value is computed before the choice.",
        "Pass functions: jax.lax.cond(condition, lambda: x, lambda: y); or choose between values: jnp.where(condition, x, y).",
    ),
    Kind.UNPACKED: FindingText(
        "{names}",
        "Python takes an array apart along its first axis, and a single number has none.",
        "If it is the carry of a loop: it has the structure that the loop begins with, so begin with a tuple.",
    ),
    Kind.NO_ARRAY: FindingText(
        "{names}, which JAX cannot trace",
        "jax.jit traces all arguments. They must be arrays, numbers, or lists, tuples and dictionaries of them.",
        "If it is a setting, such as a string or a function: jax.jit(f, {setting}). An object that holds arrays must be "
        "a pytree: jax.tree_util.register_dataclass.",
    ),
    Kind.CALLBACK: FindingText(
        "JAX refuses `{code}` {names}",
        "JAX cannot look into a Python function, and has no rule for it there.",
    ),
    Kind.OVERFLOW: FindingText(
        "{names} not fit int32",
        "JAX computes in 32 bits unless jax_enable_x64 is set.",
        'Keep 64 bits: jax.config.update("jax_enable_x64", True) at start-up; or pass a float; or numpy.uint32(...).',
    ),
    Kind.CHECKIFY: FindingText(
        "checkify is outside of a vmap over a loop that ends lane by lane",
        "Such a loop runs until its last lane has finished, and JAX cannot tell which lanes a check still applies to.",
        "Put vmap around checkify: jax.vmap(checkify.checkify(f)). The error then has an entry for each lane.",
    ),
    Kind.STATIC: FindingText(
        "{names} is static and cannot be hashed",
        "JAX looks a compiled program up by the values of its static arguments, so they need __hash__ and __eq__.",
        "Pass a tuple instead of a list, a frozen dataclass instead of a dictionary; pass arrays as ordinary arguments.",
    ),
}


BOTH_BRANCHES = (
    "Both sides of jnp.where are computed. If one can be NaN there, its gradient is NaN too: mask its input as well."
)
"""The advice for a rewrite with `jnp.where`."""

CHECKED = "Check values in the program with jax.experimental.checkify.check."
"""The advice for an `assert` about traced values."""

ARGUMENT = (
    "`{name}` is an argument of {function}, which JAX traces. "
    "If it is a setting: jax.jit({function}, static_argnames={name!r})."
)
"""The advice if a shape or a loop needs a traced value."""

ARGUMENT_OF_CALLER = (
    "`{name}` is argument `{argument}` of {function}, which JAX traces. "
    "If it is a setting: jax.jit({function}, {setting})."
)
"""The same, where another function has the argument than the one that is traced."""

COMPUTED = "`{name}` is computed in {function}, which JAX traces, so it has no value yet."
"""The advice if the value that is needed is no argument."""

VARYING = (
    "`{name}` has another value in each {part} of {by}, which JAX traces once for all, so no size can depend on it. Take the "
    "largest size, and mask the rest: jnp.where(jnp.arange(largest) < n, x, 0)."
)
"""The advice if the needed value belongs to a lane of a vmap or a step of a loop."""

READ_ONLY = "NumPy shows the memory of a JAX array, which is read-only. np.array makes a copy; np.asarray does not."
"""The advice where NumPy would change the memory of a JAX array."""

FORMAT = 'Format it when the program runs: jax.debug.print("{x:.2f}", x=x).'
"""The advice where a traced value is formatted."""

SELF = (
    "Make its class a pytree: jax.tree_util.register_dataclass, or a module of equinox or flax; or pass the arrays that the "
    "method needs as arguments. static_argnames='self' keeps the attributes as they are at the first call."
)
"""The advice where a method is jitted whose object JAX cannot trace."""

STATIC_ARRAY = "An array is no setting: pass it as an ordinary argument. If a size needs its value, pass int(x)."
"""The advice for an array that is a static argument."""

STORED = (
    "The callback stores the number when the program runs; jax.effects_barrier() waits for it. Or return the array, and store "
    "it where the function is called."
)
"""The advice for a rewrite that stores a number by a callback."""

RETURNED = "Return the array, and store it where the function is called."
"""The advice if no callback can store the number, because it would hold tracers."""

SLICE = (
    "A slice of a fixed size may begin anywhere: jax.lax.dynamic_slice_in_dim(x, start, size). "
    "For a slice of changing size, mask with jnp.where(jnp.arange(x.shape[0]) < n, x, neutral)."
)
"""The advice for a slice with traced bounds."""

KNOWN_LENGTH = (
    "Near the end, dynamic_slice moves the beginning so that the slice fits; NumPy would give a shorter slice."
)
"""The advice for a slice that is rewritten because its length is known."""

STRUCTURE = "Return a carry with the structure that the loop begins with: the same keys and lengths."
"""The advice for a loop whose body returns a carry of another structure."""

NO_RETURN = "The body returns None in its place. Has it no `return` at the end? Return the new carry."
"""The advice for a loop whose body returns None in place of a carry."""

PAIR = "Return a pair from the body: the carry, and what scan stacks, which may be None: return carry, None."
"""The advice for a `scan` whose body returns no pair."""
