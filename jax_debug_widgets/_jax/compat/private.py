"""Look up the names that we need from JAX's modules at their first use, from a public module where there is one.

No other module imports `jax._src` or `jaxlib`: they import these modules. A name that the installed JAX does not have
raises `MissingNameError` where it is used, not where we are imported. `features` lists the names that each feature
needs.
"""

from __future__ import annotations

import functools
import importlib
import threading
from typing import TYPE_CHECKING, Any

import jax
from jax.extend.core import Primitive


class MissingNameError(AttributeError):
    """The installed JAX does not have a name that we need."""


class PrivateModule:
    """A module of JAX. Its names are looked up when they are first used."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        found = lookup(self._path, name)
        if isinstance(found, _LASTING):
            setattr(self, name, found)
        return found


_LASTING = (type, Primitive, threading.local, type(jax.default_device))
"""The kinds of objects that are looked up once: JAX's options, too. Functions may be replaced, so they are not."""


def module(path: str) -> Any:
    """Return the module itself.

    Raises:
      MissingNameError: the installed JAX has no such module.
    """
    package, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:  # `jax._src.lib` has modules of jaxlib as attributes.
        found = getattr(importlib.import_module(package), name, None)
    if found is None:
        raise MissingNameError(f"jax {jax.__version__} has no {path}")
    return found


def path_of(owner: PrivateModule) -> str:
    """Return the dotted path of one of these modules in JAX."""
    return owner._path


def lookup(path: str, name: str) -> Any:
    """Look up a name in a module of JAX, or in a public module that has it.

    Raises:
      MissingNameError: the module has no such name.
    """
    try:
        return getattr(_home(path, name), spelled(path, name))
    except AttributeError as error:
        raise MissingNameError(f"jax {jax.__version__} has no {path}.{name}") from error


def place_of(owner: Any, name: str) -> tuple[Any, str]:
    """Return the object that has the attribute `name` in the installed JAX, and the attribute's name there."""
    return (module(owner._path), spelled(owner._path, name)) if isinstance(owner, PrivateModule) else (owner, name)


@functools.cache
def spelled(path: str, name: str) -> str:
    """Return the name that the installed JAX uses for `name` of a module: itself, or the first of `RENAMED` that exists."""
    others = RENAMED.get(path, {}).get(name, "").split()
    return next((one for one in (name, *others) if others and hasattr(module(path), one)), name)


@functools.cache
def _home(path: str, name: str) -> Any:
    """Return the module that has this name, a public one if possible. Cached, because each use of a name calls it."""
    for public, names in PUBLIC.get(path, {}).items():
        # `getattr` would warn about deprecated names.
        if name in names.split() and vars(home := importlib.import_module(public)).get(name) is not None:
            return home
    return module(path)


PUBLIC = {
    "jax._src.core": {
        "jax": "typeof",
        "jax.core": "DebugInfo DropVar Jaxpr JaxprEqn ShapedArray Tracer eval_context eval_jaxpr jaxprs_in_params "
        "mapped_aval new_jaxpr_eqn no_effects set_current_trace",
        "jax.extend.core": "ClosedJaxpr DebugInfo DropVar Jaxpr JaxprEqn Literal Primitive Var jaxpr_as_fun jaxprs_in_params "
        "mapped_aval new_jaxpr_eqn no_effects set_current_trace",
    },
    "jax._src.api_util": {"jax.api_util": "debug_info"},
    "jax._src.config": {
        "jax": "debug_infs debug_nans default_device transfer_guard_device_to_host transfer_guard_host_to_device"
    },
    "jax._src.debugging": {"jax.debug": "DebugEffect"},
    "jax._src.ffi": {"jax.ffi": "build_ffi_lowering_function"},
    "jax._src.interpreters.ad": {"jax.interpreters.ad": "JVPTrace JVPTracer Zero primitive_jvps primitive_transposes"},
    "jax._src.interpreters.batching": {
        "jax.interpreters.batching": "defvectorized fancy_primitive_batchers primitive_batchers"
    },
    "jax._src.interpreters.mlir": {
        "jax.interpreters.mlir": "ModuleContext TokenSet ir_constant lower_fun lower_jaxpr_to_module register_lowering"
    },
    "jax._src.interpreters.partial_eval": {
        "jax.interpreters.partial_eval": "DynamicJaxprTracer custom_partial_eval_rules dce_jaxpr "
        "partial_eval_jaxpr_custom_rules trace_to_jaxpr_dynamic"
    },
    "jax._src.lax.control_flow.conditionals": {"jax.lax": "cond_p"},
    "jax._src.lax.control_flow.loops": {"jax.lax": "while_p"},
    "jax._src.lax.lax": {"jax.lax": "copy_p"},
    "jax._src.lib.mlir": {"jax.interpreters.mlir": "ir"},
    "jax._src.mesh": {"jax.sharding": "use_abstract_mesh"},
    "jax._src.source_info_util": {
        "jax.extend.source_info_util": "NameStack SourceInfo current current_name_stack new_name_stack set_name_stack"
    },
    "jax._src.tree_util": {"jax.tree_util": "default_registry"},
}
"""Module -> public modules -> the names that these have too, in all supported versions. In 0.8 some are in `jax.core` only."""


RENAMED = {
    "jax._src.monitoring": {"unregister_event_duration_listener": "_unregister_event_duration_listener_by_callback"},
}
"""Module -> the name that we use -> its names in other supported versions of JAX."""


if TYPE_CHECKING:
    from jax._src import (
        ad_checkpoint,
        api,
        api_util,
        array,
        callback,
        config,
        core,
        custom_batching,
        debugging,
        dispatch,
        distributed,
        dtypes,
        effects,
        ffi,
        linear_util,
        mesh,
        monitoring,
        pjit,
        shard_map,
        sharding_impls,
        source_info_util,
        stages,
        traceback_util,
        tree_util,
        util,
        xla_bridge,
    )
    from jax._src.debugger import core as debugger
    from jax._src.interpreters import ad, batching, mlir, pxla
    from jax._src.interpreters import partial_eval as pe
    from jax._src.lax import lax
    from jax._src.lax.control_flow import common, conditionals, loops
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import hlo
    from jax._src.numpy import array_methods
    from jax._src.state import discharge

    flattree: Any
else:
    ad_checkpoint = PrivateModule("jax._src.ad_checkpoint")
    api = PrivateModule("jax._src.api")
    api_util = PrivateModule("jax._src.api_util")
    array = PrivateModule("jax._src.array")
    array_methods = PrivateModule("jax._src.numpy.array_methods")
    callback = PrivateModule("jax._src.callback")
    config = PrivateModule("jax._src.config")
    core = PrivateModule("jax._src.core")
    custom_batching = PrivateModule("jax._src.custom_batching")
    debugging = PrivateModule("jax._src.debugging")
    dispatch = PrivateModule("jax._src.dispatch")
    distributed = PrivateModule("jax._src.distributed")
    dtypes = PrivateModule("jax._src.dtypes")
    effects = PrivateModule("jax._src.effects")
    ffi = PrivateModule("jax._src.ffi")
    flattree = PrivateModule("jax._src.flattree")
    linear_util = PrivateModule("jax._src.linear_util")
    mesh = PrivateModule("jax._src.mesh")
    monitoring = PrivateModule("jax._src.monitoring")
    pjit = PrivateModule("jax._src.pjit")
    shard_map = PrivateModule("jax._src.shard_map")
    sharding_impls = PrivateModule("jax._src.sharding_impls")
    source_info_util = PrivateModule("jax._src.source_info_util")
    stages = PrivateModule("jax._src.stages")
    traceback_util = PrivateModule("jax._src.traceback_util")
    tree_util = PrivateModule("jax._src.tree_util")
    util = PrivateModule("jax._src.util")
    xla_bridge = PrivateModule("jax._src.xla_bridge")
    debugger = PrivateModule("jax._src.debugger.core")
    ad = PrivateModule("jax._src.interpreters.ad")
    batching = PrivateModule("jax._src.interpreters.batching")
    mlir = PrivateModule("jax._src.interpreters.mlir")
    pxla = PrivateModule("jax._src.interpreters.pxla")
    pe = PrivateModule("jax._src.interpreters.partial_eval")
    lax = PrivateModule("jax._src.lax.lax")
    common = PrivateModule("jax._src.lax.control_flow.common")
    conditionals = PrivateModule("jax._src.lax.control_flow.conditionals")
    loops = PrivateModule("jax._src.lax.control_flow.loops")
    xla_client = PrivateModule("jax._src.lib.xla_client")
    ir = PrivateModule("jax._src.lib.mlir.ir")
    hlo = PrivateModule("jax._src.lib.mlir.dialects.hlo")
    discharge = PrivateModule("jax._src.state.discharge")
