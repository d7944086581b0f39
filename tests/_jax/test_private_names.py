"""Test that each private name of JAX is in the table of features, and that none is used when a module is imported."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import jax_debug_widgets
from jax_debug_widgets._jax.compat import features, private, versions
from jax_debug_widgets._jax.compat.replacements import Replacements

PACKAGE = Path(jax_debug_widgets.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
OURS = "jax_debug_widgets._jax.compat.private"
ALWAYS = {"__file__", "__name__"}
"""What every module has."""


def private_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (one for one in names if one.startswith(("jax._src", "jaxlib")))


def modules_of_jax(tree: ast.AST) -> dict[str, str]:
    """Return the local names of the modules that a file imports from `private`, with their names there."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == OURS]
    found = {one.asname or one.name: one.name for node in imports for one in node.names}
    return {
        name: module for name, module in found.items() if isinstance(getattr(private, module), private.PrivateModule)
    }


def names_used(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Return module and name of each attribute of JAX's modules that a file reads or replaces."""
    modules = modules_of_jax(tree)
    for node in ast.walk(tree) if modules else ():
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
                yield modules[module], name
            case ast.Call(
                func=ast.Attribute(attr="attribute"), args=[ast.Name(id=module), ast.Constant(value=name), *_]
            ):
                if module in modules:
                    yield modules[module], name


def names_used_by_the_body(tree: ast.Module) -> Iterator[str]:
    """Return the names of JAX's modules that are used at import, not in functions or annotations."""
    modules = modules_of_jax(tree)
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting += node.decorator_list if isinstance(node, ast.FunctionDef) else []
            waiting += [one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None]
            continue
        if isinstance(node, ast.Name) and node.id in modules:
            yield f"{node.id}, line {node.lineno}"
        left_out = node.annotation if isinstance(node, ast.AnnAssign) else None
        waiting += [one for one in ast.iter_child_nodes(node) if one is not left_out]


def public_names(module: str) -> set[str]:
    spellings = private.PUBLIC.get(private.path_of(getattr(private, module)), {})
    return {name for names in spellings.values() for name in names.split()}


def all_in_table() -> Iterator[Mapping[str, str]]:
    for names in features.NEEDED.values():
        for module, text in names.items():
            yield from ({"module": module, "path": str(found["path"])} for found in features.names_of(text))


def names_in_table() -> set[tuple[str, str]]:
    """Return module and name of everything that a feature needs."""
    return {(found["module"], found["path"].partition(".")[0]) for found in all_in_table()}


@functools.cache
def parsed() -> dict[Path, ast.Module]:
    """Return the syntax tree of each file of the package."""
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in SOURCES}


def test_only_one_module_imports_private_modules_of_jax():
    importing = {file for file, tree in parsed().items() if any(private_imports(tree))}
    assert importing == {PACKAGE / "_jax" / "compat" / "private.py"}


def test_no_module_uses_a_private_name_when_it_is_imported():
    for file, tree in parsed().items():
        assert not list(names_used_by_the_body(tree)), file


def test_each_name_that_is_used_is_public_or_in_the_table_of_features():
    table = names_in_table()
    unknown = {
        f"{file.relative_to(PACKAGE)}: {module}.{name}"
        for file, tree in parsed().items()
        for module, name in names_used(tree)
        if (module, name) not in table and name not in public_names(module) | ALWAYS
    }
    # This name is optional: the code tests whether it exists.
    optional = {"_jax/compat/versions.py: sharding_impls._internal_use_concrete_mesh"}
    since_11 = {f"_jax/compat/versions.py: flattree.{name}" for name in ("nones", "pack")}
    names = () if versions.EXPLAINS_TRACES else ("config.trace_context", "pe.explain", "pe.trace_to_jaxpr")
    since_9 = {f"_jax/running/cache_misses.py: {name}" for name in names}
    assert unknown == optional | since_11 | since_9


def test_the_table_has_no_name_that_nobody_uses():
    code = "".join(file.read_text(encoding="utf-8") for file in SOURCES if file.name != "features.py")
    names = {found["path"].rpartition(".")[2] for found in all_in_table()}
    assert {name for name in names if not re.search(rf"\b{name}\b", code)} == set()


def test_the_checks_find_what_they_look_for():
    text = (
        f"import jaxlib\nfrom {OURS} import core, mlir as m\n_TYPE = core.Var\ndef f(x: core.Jaxpr): return m.gone\n"
        "class A:\n  y: core.Jaxpr = m.late\n@core.f\ndef g(x=m.x): ...\ndef put(replace): replace.attribute(m, 'hook', g)\n"
    )
    tree = ast.parse(text)
    assert list(private_imports(tree)) == ["jaxlib"]
    assert {("core", "Var"), ("mlir", "gone"), ("mlir", "hook")} <= set(names_used(tree))
    assert sorted(names_used_by_the_body(tree)) == ["core, line 3", "core, line 7", "m, line 6", "m, line 8"]


@pytest.mark.parametrize("path", private.PUBLIC)
def test_a_public_spelling_is_the_very_same(path):
    for name in {name for names in private.PUBLIC[path].values() for name in names.split()}:
        found = private.lookup(path, name)
        assert found is getattr(private.module(path), name, found)


def test_a_name_that_is_gone_says_so_where_it_is_used_and_not_before():
    gone = private.PrivateModule("jax._src.core.gone")
    for use in (lambda: gone.anything, lambda: private.core.no_such_name, lambda: private.place_of(gone, "anything")):
        with pytest.raises(private.MissingNameError, match=r"^jax [\d.]+ has no jax\._src\.core\.(gone|no_such_name)"):
            use()
    assert getattr(private.core, "no_such_name", None) is None


def test_a_name_that_jax_has_renamed_is_found_and_replaced_by_one_line_of_the_table(monkeypatch):
    monkeypatch.setitem(private.RENAMED, "jax._src.pjit", {"_infer": "_no_such_name _infer_params"})
    private.spelled.cache_clear()
    theirs = private.pjit._infer_params
    assert private.pjit._infer is theirs
    assert [*features._absent("pjit", "_infer(fun, ji|jit_info)")] == []
    replacements = Replacements()
    replacements.attribute(private.pjit, "_infer", lambda theirs, *args, **params: theirs(*args, **params))
    assert private.pjit._infer.theirs is private.pjit._infer_params.theirs is theirs
    replacements.undo()
    assert private.pjit._infer is theirs
    private.spelled.cache_clear()
