"""List cells that must do the same with `%%jaxdebug` as without."""

from __future__ import annotations

VALUES = {
    "an expression": "f(1.)",
    "a suppressed value": "f(1.);",
    "a suppressed constant, and a comment": "1  ; # quiet",
    "two expressions": "f(1.)\nf(2.)",
    "expressions on one line": "f(1.); f(2.)",
    "an assignment": "y = f(1.)",
    "an annotated assignment": "y: float = f(1.)\n__annotations__",
    "annotations kept as text": "from __future__ import annotations\ny: dict(a=1) = f(1.)\n__annotations__",
    "an augmented assignment": "y = 1.\ny += f(1.)\ny",
    "None": "None",
    "nested calls": "g(f(x=1.))",
    "a chain of calls": "jnp.sum(jax.vmap(g)(jnp.arange(3.))).item()",
    "grad of a lambda": "jax.grad(lambda x: f(x) ** 2)(1.)",
    "a list comprehension": "[f(float(i)) for i in range(2)]",
    "a dict comprehension": "{k: f(v) for k, v in {'a': 1.}.items()}",
    "a generator expression": "sum(f(float(i)) for i in range(2))",
    "a lambda": "(lambda x: f(x))(1.)",
    "an f-string with calls": "f'{f(1.)} {float(f(2.))!r:>20}'",
    "a walrus": "if (n := f(1.)) > 1: print(n)\nn",
    "a conditional expression": "1 if f(1.) else 2",
    "stars": "def q(*a, **k): return a, k\nq(*[1, 2], **{'a': f(3.)}, b=2)",
    "a key function": "max([1, 2], key=lambda v: -v)",
    "parentheses": "(\nf(1.)\n)",
    "code in a string": "x = 'f(1.)'\nx",
    "leading blank lines": "\n\nf(1.)",
    "only a comment": "# nothing",
    "nothing": "",
    "blank lines": "\n\n",
    "a docstring": "'''doc'''",
    "display": "display(3)\ndisplay('a')",
    "a rich value": "from IPython.display import HTML\nHTML('<b>a</b>')",
}

STATEMENTS = {
    "a loop": "for i in range(3):\n    y = f(float(i))\ny",
    "while and else": "i = 0\nwhile i < 2:\n    f(float(i)); i += 1\nelse:\n    print('done')",
    "match": "match f(1.):\n    case x if x > 1: print('big', x)\n    case dict(a=1): print('no')",
    "with": "import contextlib\nwith contextlib.suppress(ZeroDivisionError):\n    f(1.) / (1 / 0)\n3",
    "try, except, finally": "try:\n    f(1.); 1/0\nexcept ZeroDivisionError:\n    f(2.)\nfinally:\n    f(3.)",
    "except star": (
        "try:\n    raise ExceptionGroup('g', [ValueError(1)])\nexcept* ValueError as e:\n    print(f(1.), e.exceptions)"
    ),
    "future annotations": ("from __future__ import annotations\ndef q(x: NotThere): pass\nq.__annotations__"),
    "a decorator": "def d(h): return h\n@d\ndef q(x): return f(x)\nq(1.)",
    "a decorator that is a call": (
        "import functools\n@functools.partial(jax.jit, static_argnums=0)\ndef q(n, x): return x * n\nq(3, 1.)"
    ),
    "zero-argument super": (
        "class A:\n    def __init__(self): self.x = f(1.)\n"
        "class B(A):\n    def __init__(self): super().__init__()\nB().x"
    ),
    "names": "sorted(k for k in locals() if not k.startswith('_'))",
    "locals of a function": "def q(): return locals()\nq()",
    "no names of ours": "sorted({*dir(), *globals(), *vars()} & {n for n in dir() if 'jaxdebug' in n})",
    "del": "z = 1\ndel z\n'z' in dir()",
    "global": "global zz\nzz = 3",
    "names redefined": "print = 3\nlist = lambda x: 5\nlist(4)\ndel print, list",
    "eval": "eval('f(1.)')",
    "exec": "exec('y = f(1.)')\ny",
    "the frame": "import sys\nsys._getframe().f_code.co_name, sys._getframe().f_lineno",
    "the caller's line": "import inspect\ndef q():\n    return inspect.stack()[1].lineno\nq()",
    "its source": "def q(x): return f(x)\nimport inspect\ninspect.getsource(q)",
    "a warning": "import warnings\nwarnings.warn('careful')",
    "a warning from a function": ("def q():\n    import warnings\n    warnings.warn('careful', stacklevel=2)\nq()"),
    "stderr": "import sys\nprint('oops', file=sys.stderr)",
    "top-level await": "import asyncio\nawait asyncio.sleep(0)\nf(1.)",
    "top-level async for": ("async def gen():\n    yield 1\nasync for q in gen():\n    print(q, f(2.))\nq"),
    "an async function": "async def q(x): return f(x)\nawait q(1.)",
    "a cell in the cell": "get_ipython().run_cell('f(3.)')\nf(1.)",
    "a failing cell in the cell": "get_ipython().run_cell('1/0').success\nf(1.)",
    "a magic called in the cell": "get_ipython().run_line_magic('who_ls', '')",
}

MAGICS = {
    "a line magic": "%who_ls\nf(1.)",
    "an assigned line magic": "x = %precision 3\nx",
    "%timeit": "%timeit -qn1 -r1 f(1.)\n3",
    "%reset": "%reset -f\nx = len('abc')\nx",
    "a shell command": "!echo hi\nf(1.)",
    "an assigned shell command": "o = !echo hi\no",
    "help": "len?",
    "autocall": "/f 1.",
    "a prompt pasted": ">>> f(1.)\n",
    "%%capture below": "%%capture c\nprint(f(1.))",
    "%%bash below": "%%bash\necho hi",
    "an unknown cell magic below": "%%nosuch\nhi",
    "an unknown line magic": "%nosuch",
}

SYNTAX_ERRORS = {
    "two equals": "x = 1\ny = = 2",
    "a broken def": "def f(:\n  pass",
    "indentation": "  x = 1\n y = 2",
    "no body": "if True:\nx",
    "return": "return 5",
    "yield": "yield 3",
    "nonlocal": "nonlocal x",
    "an open parenthesis": "x = (1,\n",
    "an open string": "'abc",
    "Python 2": "print 'a'",
    "await as a name": "await = 3",
}

ERRORS = {
    "raised by the cell": "f(1.)\n1/0",
    "of several lines": "f(\n    1.,\n).nothing(\n    f(2.))",
    "in a function": "def h(x):\n    return f(x) / 0 + undefined\nh(1.)",
    "in an inner function": (
        "def outer():\n    f(1.)\n    def inner():\n        raise ValueError('deep')\n    return inner()\nouter()"
    ),
    "with a cause": "try:\n    1/0\nexcept Exception as e:\n    raise ValueError('b') from e",
    "with a context": "try:\n    1/0\nexcept Exception as e:\n    raise ValueError('b')",
    "while tracing": "@jax.jit\ndef h(x):\n    return x + jnp.ones(3) @ jnp.ones(2)\nh(1.)",
    "while tracing a branch": "@jax.jit\ndef h(x):\n    if x > 0:\n        return x\nh(1.)",
    "while tracing inside a print": "@jax.jit\ndef h(x):\n    jax.debug.print('{} {}', x)\n    return x\nh(1.)",
    "in the format, un-jitted": "jax.debug.print('{y}', x=1.)",
    "in an un-jitted callback": ("def cb(x):\n    y = 3\n    raise ValueError('no')\n\njax.debug.callback(cb, 1.)"),
    "of arguments": "g(f(1.), 2, 3)",
    "of a missing argument": "def q(a):\n    pass\nq()",
    "of a builtin": "len(1, 2)",
    "of a builtin's keyword": "len(x=3)",
    "of an unknown name": "g(undefined)",
    "of an unknown attribute": "f.nothing(3)",
    "in eval": "eval('1 +')",
    "in exec": "exec('1/0')",
    "of super": "super()",
    "of a duplicate keyword": "def q(**k):\n    return k\nq(**{'a': 1}, a=2)",
    "an assertion": "assert f(1.) == 3, f'no {f(1.)}'",
    "a group": "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
    "of a cell in the cell": "get_ipython().run_cell('1/0').raise_error()\nf(1.)",
    "with a cause that was never raised": "f(1.)\nraise ValueError('b') from KeyError('a')",
    "KeyboardInterrupt": "f(1.)\nraise KeyboardInterrupt",
    "SystemExit": "import sys\nsys.exit(3)",
    "SystemExit with words": "raise SystemExit('bye')",
    "in top-level await": "async def h():\n    f(1.)\n    raise ValueError('late')\nawait h()",
    "formatted by the cell": (
        "import traceback\ntry:\n    g(f(1.), 2, 3)\n"
        "except TypeError:\n    print(traceback.format_exc().count('ipython-input'))"
    ),
}
