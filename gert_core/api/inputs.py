"""Where inputs come from: bindings grouped by prefix, one resolver per prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.api.context import Deadline, Services
    from gert_core.api.views import ProjectInfo


class InputBinding(Struct, frozen=True, kw_only=True):
    """One input that wants a value; ``source`` is its ``from:`` text, ``path`` the part after the prefix.

    ``check(value)`` gives the value in the input's type or raises ``ValueError`` with a sentence, so that
    a resolver that asks a person can ask again.
    """

    name: str
    source: str
    path: str = ""
    type: str = "string"
    default: object = None
    has_default: bool = False
    required: bool = False
    description: str = ""
    secret: bool = False
    check: Callable[[object], object] | None = None


class ResolveFn(Protocol):
    """Answers a batch of bindings; a name left out of the answer is unresolved (the default applies)."""

    def __call__(
        self, bindings: Sequence[InputBinding], deadline: Deadline, services: Services
    ) -> Mapping[str, object]:
        """Raise ``InputError`` naming the input and the source when asking itself goes wrong."""


class InputResolver(Struct, frozen=True, kw_only=True):
    """A source of inputs, chosen by the first word of ``from:`` (``env`` in ``env/HOST``).

    ``interactive`` resolvers ask a person and come after all others. ``names(project)`` gives further first words the
    resolver answers to in this project (``cmdb`` in ``cmdb.server.name``).
    """

    name: str
    resolve: str | ResolveFn
    interactive: bool = False
    names: str | Callable[[ProjectInfo | None], Sequence[str]] | None = None
    summary: str = ""


__all__ = ["InputBinding", "InputResolver", "ResolveFn"]
