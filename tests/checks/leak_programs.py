"""Programs that store a tracer under a name of this module.

The tests execute this file anew for each test: what its names hold is empty then.
"""

from __future__ import annotations

import contextvars
import functools

import jax
import jax.numpy as jnp

X = jnp.ones(3)
kept: dict = {}
last = None
last_seen: list = []
remembered: list = []


class Layer:
    last = None

    def run(self, x):
        self.last = x * 2
        return self.last


layers = [Layer()]


@functools.cache
def doubled(n):
    return jnp.sin(jnp.ones(n))


def in_global(x):
    globals()["last"] = jnp.sin(x)
    return x


def in_dict(x):
    kept["h"] = [x, jnp.cos(x)]
    return x


def in_closure():
    held = []

    def f(x):
        held.append(x + 1)
        return x

    return f


def in_a_tuple(x):
    globals()["last"] = (x * 2,)
    return x


def argument(x):
    kept["x"] = x
    return x + 1


class Way:
    given = None


def in_an_element_of_a_set(x):
    kept["h"] = {Way()}
    next(iter(kept["h"])).of = x * 4
    return x


def in_a_generator(x):
    def of(y):
        yield 0
        yield y

    kept["of"] = of(x - 1)
    next(kept["of"])
    return x


now = contextvars.ContextVar("now")


def in_a_context_variable(x):
    now.set({"x": x * 6})
    return x


keeper = in_closure()
jitted_keeper = jax.jit(in_closure())

LEAKS = {
    "a global": (in_global, "last"),
    "a list in a dictionary": (in_dict, "kept['h'][1]"),
    "an attribute of an element": (layers[0].run, "layers[0].last"),
    "a cache": (lambda x: x + doubled(3), "doubled (its functools.lru_cache)[3]"),
    "a variable of a function around": (keeper, "keeper → its variable held[0]"),
    "a variable around a jitted function": (jitted_keeper, "jitted_keeper → its variable held[0]"),
    "a tuple of it alone": (in_a_tuple, "last[0]"),
    "an argument": (argument, "kept['x']"),
    "an argument of a partial": (lambda x: kept.update(f=functools.partial(max, x * 2)) or x, "kept['f'].args[0]"),
    "a default": (lambda x: kept.update(g=lambda a=x * 3: a) or x, "kept['g'].__defaults__[0]"),
    "an element of a set": (in_an_element_of_a_set, "kept['h'] (one of its elements).of"),
    "an attribute of a class": (lambda x: setattr(Way, "given", x * 5) or x, "Way.given"),
    "a generator": (in_a_generator, "kept['of'] → its variable y"),
    "a context variable": (in_a_context_variable, "now.get()['x']"),
    "a name like a console's": (lambda x: last_seen.append(x + 2), "last_seen[0]"),
}


@jax.jit
def decorated(x, params):
    y = x + params["w"]
    remembered.append(params["w"])
    return y


@jax.jit
def by_another(x):
    layers[0].run(x)
    keep(x)
    return x + 1


def keep(x):
    remembered.insert(0, x)
