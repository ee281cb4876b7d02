"""Defer the making of the typed dictionaries that describe pydantic's schemas until one of them is looked into.

pydantic-core has one for every kind of schema, for type checkers. While they are made Python compiles each of their
more than 600 annotations, a fourteenth of ``gert validate`` of ten steps, measured from wheels; nothing reads them when
models are made or documents are checked.
"""

from __future__ import annotations

import types
import typing
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULE: Final = "pydantic_core.core_schema"
"""The module whose typed dictionaries are deferred."""
_OF_FIELDS: Final = frozenset(
    {"__total__", "__required_keys__", "__optional_keys__", "__readonly_keys__", "__mutable_keys__"}
)


class DeferredDict(type):
    """The type of what stands for a ``TypedDict``; asking which fields it has makes the real one."""

    _given: tuple[tuple[type, ...], dict[str, Any], dict[str, Any]]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> Any:
        """Return a class that makes dictionaries, as a ``TypedDict`` does."""
        made = super().__new__(cls, name, (dict,), dict(body))
        made._given = (bases, body, options)
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, body)

    __call__ = dict

    def __getattr__(cls, name: str) -> Any:
        if name not in _OF_FIELDS:
            raise AttributeError(name)
        value = getattr(_real(cls), name)
        setattr(cls, name, value)
        return value


def _real(deferred: Any) -> Any:
    if deferred is _BASE:
        import typing_extensions

        return typing_extensions.TypedDict
    bases, body, options = deferred._given
    return types.new_class(deferred.__name__, tuple(map(_real, bases)), options, lambda made: made.update(body))


_BASE: Final[Any] = DeferredDict("TypedDict", (), {})


@contextmanager
def deferred_typed_dicts(module: types.ModuleType) -> Iterator[None]:
    """Have a module that imports ``TypedDict`` get what makes deferred ones while the block runs."""
    import typing_extensions

    homes: tuple[Any, ...] = (typing, typing_extensions)
    real = [home.TypedDict for home in homes]
    for home in homes:
        home.TypedDict = _BASE
    try:
        yield
    finally:
        for home, before in zip(homes, real, strict=True):
            home.TypedDict = before


__all__ = ["MODULE", "DeferredDict", "deferred_typed_dicts"]
