"""Describe a value that a cached program still uses although the variable that it was read from has changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StaleRead:
    """A cached program ran with a value that its function read at the first trace; a trace in the capture gave another program.

    Attributes:
      where: the place of the difference, `train.py:12`; empty if it is not known.
      file, line: the same place; empty and 0 if it is not known.
      function: the name of the traced function.
      names: the names that are read there and have changed, `("lr",)`; several if it may be any of them, none if not known.
      before, after: the value in the program, and the value now, as text; empty if it is not a single number.
      why: why JAX ran the cached program; only if it is not known what has changed.
      call: how to call the function with the value as an argument, `f(x, lr)`; empty if it is not known.
      is_code: whether what has changed is a function.
      is_certain: whether one of `names` is the new value; if not, the value may be computed from one of them.
    """

    where: str
    file: str
    line: int
    function: str
    names: tuple[str, ...]
    before: str
    after: str
    why: str = ""
    call: str = ""
    is_code: bool = False
    is_certain: bool = True

    @property
    def message(self) -> str:
        """Sentences about the value that was used, what has changed, and what to write instead."""
        at = f"{self.where}: " if self.where else ""
        return f"{at}{self.headline}. {self.reason}" if self.headline else f"{at}{self.reason}"

    @property
    def headline(self) -> str:
        """The value that was used, and what has changed; empty if that is not known."""
        if self.why:
            return ""
        what = self._named or f"something that `{self.function}` reads"
        if not self.is_certain:
            used = f"cached value {self.before} was used, not {self.after}" if self.before and self.after else ""
            return ": ".join(filter(None, (used, f"{what} {'may have' if self._named else 'has'} changed")))
        if self.before and self.after:
            now = self.after if self.after != self.before else "another"
            return f"cached value {self.before} was used although {what} is now {now}"
        return f"{what} has changed, and the program that was compiled before ran"

    @property
    def reason(self) -> str:
        """Why the old value was used, and what to write instead."""
        keeps = f"JAX keeps the value that `{self.function}` read when it was first traced"
        if self.why:
            return f"{keeps}, and that program ran: {self.why}."
        if self.is_code:
            clear = f": {self.function}.clear_cache()" if self.function.isidentifier() else ""
            return (
                f"JAX keeps the program with the former {self._named}. Call jax.jit again, or clear its cache{clear}."
            )
        call = f": `{self.call}`" if self.call else ""
        return f"{keeps}: pass {self._named or 'it'} as an argument{call}."

    @property
    def _named(self) -> str:
        return " or ".join(f"`{name}`" for name in self.names)
