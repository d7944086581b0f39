"""A value that a compiled program keeps though what it was read from has changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StaleRead:
    """JAX ran a program with what a function had read when it was first traced; traced in the capture it gave another.

    Attributes:
      where: the place of what differs: `train.py:12`; empty where it is not known.
      file, line: the same; empty and 0 where not known.
      function: the function that is traced.
      names: what is read there and has changed, `("lr",)`; several where it may be each of these, none where it is not known.
      before, after: the value that the program has, and the value now, as text; empty where it is no single number.
      call: how to call the function with it, `f(x, lr)`; empty where it is not known.
      why: why what JAX had ran, where it is not known what has changed.
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

    @property
    def message(self) -> str:
        """A sentence: what was used, what has changed, and what to write instead."""
        at = f"{self.where}: " if self.where else ""
        return f"{at}{self.headline}. {self.reason}" if self.headline else f"{at}{self.reason}"

    @property
    def headline(self) -> str:
        """What was used, and what has changed; empty where that is not known."""
        if self.why:
            return ""
        what = self._named or f"something that `{self.function}` reads"
        if self.before and self.after:
            return f"cached value {self.before} was used although {what} is now {self.after}"
        return f"{what} has changed, and the program that was compiled before ran"

    @property
    def reason(self) -> str:
        """Why that is so, and what to write instead."""
        keeps = f"JAX keeps the value that `{self.function}` read when it was first traced"
        if self.why:
            return f"{keeps}, and that program ran: {self.why}."
        call = f": `{self.call}`" if self.call else ""
        return f"{keeps}: pass {self._named or 'it'} as an argument{call}."

    @property
    def _named(self) -> str:
        return " or ".join(f"`{name}`" for name in self.names)
