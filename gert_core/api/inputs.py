"""Input resolvers: the sources of inputs, and the bindings they resolve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.api.context import Deadline, Services
    from gert_core.api.views import ProjectInfo


class InputBinding(Struct, frozen=True, kw_only=True):
    """One input to resolve; ``source`` is its ``from:`` text, ``path`` the part after the prefix.

    ``check(value)`` returns the value in the input's type or raises ``ValueError`` with a message, so that an
    interactive resolver can ask again; the message of a secret input does not show the value. ``choices`` are the only
    values the input may have, when it lists them and is not secret.
    ``parse(text)`` returns what a text says in YAML or JSON, or raises ``ValueError``.
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
    parse: Callable[[str], object] | None = None
    choices: tuple[object, ...] = ()


class ResolveFn(Protocol):
    """A function that resolves a batch of bindings; names missing from its answer get their defaults."""

    def __call__(
        self, bindings: Sequence[InputBinding], deadline: Deadline, services: Services
    ) -> Mapping[str, object]:
        """Resolve the bindings; raise ``InputError`` naming the input and the source on errors."""


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
