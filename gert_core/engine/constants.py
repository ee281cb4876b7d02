"""Render constants once: they may have templates over inputs and other constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import DocumentError, ErrorKind, Undecided
from gert_core.engine.state import RUN
from gert_core.engine.trees import require_known, walk_known
from gert_core.template import TemplateError, UndefinedVariable, compile_value, composed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.secrets import Masker

_DEEPEST: Final = 50
"""How many constants refer to one another at most before the first of them is known."""


class _Constants:
    """The constants of a runbook, each resolved when it is first used; a cycle is an error."""

    def __init__(
        self, raw: Mapping[str, object], inputs: Mapping[str, object], about: Mapping[str, str], masker: Masker
    ) -> None:
        self._raw = raw
        self._about = about
        self._masker = masker
        self._inputs = inputs
        self._open: list[str] = []
        self.done: dict[str, object] = {}

    def resolve(self, path: tuple[str, ...]) -> object:
        head = path[0]
        if head in self._inputs:
            value = self._inputs[head]
        elif head == RUN:
            value = self._about
        elif head in self._raw:
            value = self.constant(head)
        else:
            raise UndefinedVariable(path)
        return require_known(walk_known(value, path[1:], path), path)

    def names(self) -> Iterable[str]:
        return {*self._inputs, *self._raw, RUN}

    def constant(self, name: str) -> object:
        if name in self.done:
            return self.done[name]
        if name in self._open:
            circle = " -> ".join([*self._open[self._open.index(name) :], name])
            raise DocumentError(f"constants refer to each other in a cycle: {circle}", kind=ErrorKind.CONSTANT_CYCLE)
        if len(self._open) >= _DEEPEST:
            first = self._open[0]
            raise DocumentError(
                f"constant {first} refers to others over more than {_DEEPEST} steps", kind=ErrorKind.CONSTANT_CYCLE
            )
        self._open.append(name)
        template = compile_value(self._raw[name])
        try:
            try:
                value = template.render(self)
            except Undecided:
                value = template.render_partial(self)
        except TemplateError as error:
            reason = self._masker.mask_text(self._masker.mask_fragments(error.message))
            raise DocumentError(f"constant {name}: {reason}", kind=ErrorKind.TEMPLATE) from None
        self._open.pop()
        self.done[name] = value
        return value


def render_constants(
    raw: Mapping[str, object], inputs: Mapping[str, object], *, about: Mapping[str, str], masker: Masker
) -> dict[str, object]:
    """Return every constant with its value, or a symbol, in document order; ``about`` is ``.run``.

    Errors name no secret.
    """
    rendering = _Constants(raw, inputs, about, masker)
    values = {name: rendering.constant(name) for name in raw}
    try:
        return composed(values)
    except TemplateError as error:
        raise DocumentError(
            f"the constants together: {error.message}", kind=ErrorKind.TEMPLATE, hint=error.hint
        ) from None


__all__ = ["render_constants"]
