"""The errors of templates, with their position."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class TemplateError(Exception):
    """A template that is invalid or cannot be evaluated.

    ``offset`` counts characters from the start of the raw text; ``rule`` is the validation rule it breaks.
    """

    def __init__(
        self, message: str, *, hint: str | None = None, offset: int = 0, rule: str = "template-syntax"
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.offset = offset
        self.rule = rule
        self.source: str | None = None

    def __str__(self) -> str:
        return self.message


class UndefinedVariable(TemplateError):  # noqa: N818 - the established name of this error
    """A path without a value; ``known`` are the names that exist where the path ends."""

    def __init__(self, path: tuple[str, ...], *, known: Iterable[str] = ()) -> None:
        super().__init__(f"`{dotted(path)}` is not defined", rule="unresolved-variable")
        self.path = path
        self.known = known
        self.of_null = False
        """Whether the path leads on from null."""

    def suggestion(self, names: Iterable[str]) -> str | None:
        """Return the defined name most similar to the missing one, as it would be written (``.status_code``)."""
        from gert_core.kit.nearest import nearest  # only mistakes need it

        wanted = dotted(self.path)
        candidates = [name if name.startswith(".") else f".{name}" for name in names]
        # A longer path is compared by its first part too: `.chek.status` is similar to `.check`.
        for word in (wanted, f".{self.path[0]}"):
            found = nearest(word, candidates[:2000])
            if found and found != wanted:
                return found
        return None

    def complete(self, names: Iterable[str]) -> None:
        """Add the most similar defined name to the message, once."""
        if self.hint is not None:
            return
        near = self.suggestion([*self.known, *names])
        self.hint = f"did you mean `{near}`?" if near else "define it, or give it a default: `| default ...`"
        if near:
            self.message += f"; did you mean `{near}`?"


def dotted(path: Iterable[str]) -> str:
    """Return a path as it is written in a template."""
    return "." + ".".join(path)


__all__ = ["TemplateError", "UndefinedVariable", "dotted"]
