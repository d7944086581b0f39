"""Explain errors about types from JAX's messages: carries of loops, branches, arguments of jitted functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jax_debug_widgets.checks.kinds import Kind
from jax_debug_widgets.checks.namespace import is_array, value_of
from jax_debug_widgets.checks.raised import Raised, TextParts
from jax_debug_widgets.checks.rewrite.expressions import replaced
from jax_debug_widgets.checks.words import NO_RETURN, PAIR, SELF, STATIC_ARRAY, STRUCTURE, WORDS

_BOTH = 2

_TYPE = r"[^\s,\[]+(?:\[[^\]]*\])?"
"""The pattern of a type in JAX's messages: `float32[2,3]`."""

_CARRY = re.compile(
    rf"The input carry (?:component )?(\S+) has type ({_TYPE}) but the corresponding output carry component has type ({_TYPE})"
)


_STRUCTURE = re.compile(
    r"The input carry (?:component )?(\S+) is an? (.+?) but the corresponding component of the carry output is an? (.+?), so|"
    r"the input tree structure is:\s+()PyTreeDef\((.*)\)\s+the output tree structure is:\s+PyTreeDef\((.*)\)"
)


def carry(raised: Raised) -> TextParts:
    """Explain a loop whose body returns a carry of another type or structure than it receives."""
    changed = [f"`{name}` {before} → {after}" for name, before, after in _CARRY.findall(raised.text)]
    structures = [
        f"{_carried(one[0])}{_structure(one[1] or one[4])} → {_structure(one[2] or one[5])}"
        for one in _STRUCTURE.findall(raised.text)
    ]
    words = ", ".join([*changed, *structures]) or "see JAX's message"
    begins = [f"`{name}` with jnp.full({shape}, ..., jnp.{dtype})" for name, shape, dtype in _begins(raised.text)]
    advice = f"{WORDS[Kind.CARRY].advice.format(names=words)} For example {', '.join(begins)}." if begins else ""
    if structures:
        advice = NO_RETURN if any(one.endswith("→ None") for one in structures) else STRUCTURE
    return TextParts(Kind.CARRY, names=words, advice=advice)


def _carried(name: str) -> str:
    """Write the name of a carry; empty for the carry of a `fori_loop`, which has no name of the user's."""
    return f"`{name}` " if name and not name.startswith("loop_carry") else ""


def _structure(words: str) -> str:
    """Shorten a structure in JAX's messages: `<class 'dict'> with 1 child` becomes `dict with 1 child`."""
    named = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", words)
    known = dict.fromkeys(("ShapedArray", "ArrayImpl", "*"), "an array") | {"NoneType": "None"}
    return known.get(named, named)


def no_pair(raised: Raised) -> TextParts:
    """Explain a body of a `scan` that does not return a pair of carry and output."""
    returned = raised.text.partition("got ")[2].rstrip(". ")
    return TextParts(Kind.CARRY, names=f"the body returns {returned}, and no pair", advice=PAIR)


def _begins(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, shape and dtype of each carry that begins as a scalar and that the body returns as an array."""
    for name, before, after in _CARRY.findall(text):
        known = re.fullmatch(r"([a-z]+\d+)\[([\d,]+)\]", after)
        if known and before.endswith("[]"):
            yield name, f"({known[2]},)", known[1]


_DIFFER = re.compile(
    rf"The output of (.+?) has type ({_TYPE}) but the corresponding output of (.+?) has type ({_TYPE})|"
    r"(\S+) output(?: at path \S+)? is (.+?) but (\S+) output(?: at path \S+)? is ([^,]+)"
)


def branches(raised: Raised) -> TextParts:
    """Explain branches of a `cond` or `switch` that return other types or structures."""
    found = _DIFFER.search(raised.text)
    one, type_one, other, type_other = filter(None, found.groups()) if found else ("", "", "", "")
    types = (re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", name) for name in (type_one, type_other))
    first, second = (name.replace("a pytree leaf", "one array") for name in types)
    return TextParts(Kind.BRANCHES, names=f": {first} of {one}, {second} of {other}" if found else "")


def no_array(raised: Raised) -> TextParts | None:
    """Explain an argument of a jitted function that is not an array; None if the message does not name its type."""
    kind = re.search(r"type <class '([\w.]+)'>", raised.text)
    path = re.search(r"passed to the function at path ([^\s.]+)", raised.text)
    if kind is None:
        return None
    name = path[1] if path else ""
    setting = f"static_argnames={re.split(r'[.[]', name)[0]!r}" if name.isidentifier() else "static_argnames=..."
    names = f"{f'`{name}`' if name else 'an argument'} is of type {kind[1].removeprefix('builtins.')}"
    advice = SELF if name == "self" else WORDS[Kind.NO_ARRAY].advice.format(setting=setting)
    return TextParts(Kind.NO_ARRAY, names=names, advice=advice)


def overflow(raised: Raised) -> TextParts:
    """Explain a whole number that does not fit into the dtype of an argument."""
    found = re.search(r"value (-?\d+)|Python int\w* (-?\d+)", raised.text)
    return TextParts(Kind.OVERFLOW, names=f"{found[1] or found[2]} does" if found else "a number here does")


def static(raised: Raised) -> TextParts:
    """Explain a static argument that has no hash."""
    kind = re.search(r"type <class '([\w.]+)'>", raised.text)
    if kind is None:
        return TextParts(Kind.STATIC)
    literals = {ast.List: "list", ast.Dict: "dict", ast.Set: "set"}
    calls = [node for node in ast.walk(raised.failing) if isinstance(node, ast.Call)]
    given = [
        *((one.arg or "", one.value) for call in calls for one in call.keywords),
        *((ast.unparse(one), one) for call in calls for one in call.args if isinstance(one, ast.Name)),
    ]
    types = {name: literals.get(type(one)) or type(value_of(one, raised.names)).__name__ for name, one in given}
    of_kind = kind[1].rpartition(".")[2]
    name = next((name for name, of in types.items() if name and of == of_kind), "")
    names = f"{f'`{name}`' if name else 'an argument'} of type {kind[1]}"
    return TextParts(Kind.STATIC, names=names, advice=STATIC_ARRAY if of_kind in ("ArrayImpl", "ndarray") else "")


def uncalled(raised: Raised) -> TextParts:
    """Explain a `cond` that is given values in place of functions."""
    for node in ast.walk(raised.statement):
        match node:
            case ast.Call(func=ast.Attribute(attr="cond") | ast.Name(id="cond"), args=[test, *branches], keywords=[]):
                values = [branch for branch in branches[:2] if not callable(value_of(branch, raised.names))]
                if len(branches) == len(values) == _BOTH and not any(isinstance(one, ast.Lambda) for one in values):
                    texts = (ast.unparse(test), *(f"lambda: {ast.unparse(one)}" for one in values))
                    call = f"{ast.unparse(node.func)}({', '.join(texts)})"
                    fix = ast.unparse(ast.fix_missing_locations(replaced(raised.statement, {node: call})))
                    return TextParts(Kind.UNCALLED, fix.splitlines())
    return TextParts(Kind.UNCALLED)


def unpacked(raised: Raised) -> TextParts | None:
    """Explain a number that is taken apart like a tuple."""
    match raised.statement:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
            number = value_of(value, raised.names)
            if is_array(number) and not number.ndim:
                return TextParts(
                    Kind.UNPACKED, names=f"`{ast.unparse(value)}` is one number, and no {len(parts)} values"
                )
    return None
