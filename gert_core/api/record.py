"""Records: dataclasses whose methods are written when they are first used, not when they are imported.

A frozen dataclass costs up to a millisecond of start-up, because ``dataclasses`` compiles six methods for each; a
command of gert imports a hundred records and uses twenty. What ``dataclasses`` offers for the finished class
(``fields``, ``replace``, ``asdict``, ``is_dataclass``) works on records as well.
"""

from __future__ import annotations

from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
_MISSING: Final = object()
_CELLS: Final = ("__dict__", "__weakref__")


class _Factory:
    """Makes the default of one field anew for every record."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], Any]) -> Any:
    """A default that is made anew for every record."""
    return _Factory(default_factory)


@overload
def record(cls: type[_T], /) -> type[_T]: ...


@overload
def record(*, frozen: bool = True, kw_only: bool = True, eq: bool = True) -> Callable[[type[_T]], type[_T]]: ...


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(cls: Any = None, /, *, frozen: bool = True, kw_only: bool = True, eq: bool = True) -> Any:
    """A class with slots for its annotated fields; by default frozen, keyword-only and compared by value."""
    if cls is None:
        return lambda decorated: _build(decorated, frozen=frozen, kw_only=kw_only, eq=eq)
    return _build(cls, frozen=frozen, kw_only=kw_only, eq=eq)


def field_names(one: Any) -> tuple[str, ...]:
    """The names of the fields of a record or of its class, in the order they are written."""
    return one.__record_fields__  # type: ignore[no-any-return]


def replace(one: _T, /, **changes: Any) -> _T:
    """A copy of a record with some fields changed."""
    for name in field_names(one):
        if name not in changes:
            changes[name] = getattr(one, name)
    return type(one)(**changes)


def _build(cls: type[Any], *, frozen: bool, kw_only: bool, eq: bool) -> type[Any]:
    names = tuple(cls.__annotations__)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    for name, default in defaults.items():
        if default.__class__.__hash__ is None:
            raise TypeError(f"{cls.__qualname__}.{name} would share one default: use field(default_factory=...)")
    # Slots and defaults are both attributes of a class, so the class is made again without the defaults.
    body = {name: value for name, value in cls.__dict__.items() if name not in defaults and name not in _CELLS}
    body["__slots__"] = names
    body["__record_fields__"] = names
    body["__match_args__"] = () if kw_only else names
    body["__init__"] = _Init(names, defaults, frozen=frozen, kw_only=kw_only)
    body["__dataclass_fields__"] = _Fields(defaults, kw_only=kw_only)
    body.setdefault("__repr__", _repr)
    body["__getstate__"] = _get_state
    body["__setstate__"] = _set_state
    if eq:
        body.setdefault("__eq__", _equal)
        body.setdefault("__hash__", _hash if frozen else None)
    if frozen:
        body["__setattr__"] = _refuse_set
        body["__delattr__"] = _refuse_delete
    made: type[Any] = type(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


class _Init:
    """Stands for ``__init__`` until somebody makes the first record of its class."""

    __slots__ = ("defaults", "frozen", "kw_only", "names", "owner")

    def __init__(self, names: tuple[str, ...], defaults: dict[str, Any], *, frozen: bool, kw_only: bool) -> None:
        self.names = names
        self.defaults = defaults
        self.frozen = frozen
        self.kw_only = kw_only

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.owner = owner

    def __get__(self, one: Any, owner: type[Any]) -> Any:
        method: Any = self._compile()
        type.__setattr__(self.owner, "__init__", method)
        return method if one is None else method.__get__(one, owner)

    def _compile(self) -> Callable[..., None]:
        given, lines, known = [], [], {"_MISSING": _MISSING}
        for name in self.names:
            default = self.defaults.get(name, _MISSING)
            value = name
            if default is _MISSING:
                given.append(name)
            elif isinstance(default, _Factory):
                known[f"_make_{name}"] = default.make
                given.append(f"{name}=_MISSING")
                value = f"_make_{name}() if {name} is _MISSING else {name}"
            else:
                known[f"_default_{name}"] = default
                given.append(f"{name}=_default_{name}")
            if self.frozen:
                # The slot's own setter goes past the refusing __setattr__, and is faster than object's.
                known[f"_set_{name}"] = self.owner.__dict__[name].__set__
                lines.append(f"    _set_{name}(self, {value})\n")
            else:
                lines.append(f"    self.{name} = {value}\n")
        star = "*, " if self.kw_only and given else ""
        after = "    self.__post_init__()\n" if hasattr(self.owner, "__post_init__") else ""
        source = f"def __init__(self, {star}{', '.join(given)}):\n{''.join(lines)}{after}    return None\n"
        exec(source, known)  # noqa: S102 - the text is made of the field names of a class statement
        made: Callable[..., None] = known["__init__"]  # type: ignore[assignment]
        made.__qualname__ = f"{self.owner.__qualname__}.__init__"
        made.__module__ = self.owner.__module__
        made.__annotations__ = {**self.owner.__annotations__, "return": None}
        return made


class _Fields:
    """``__dataclass_fields__``, made when somebody asks for it."""

    __slots__ = ("defaults", "kw_only", "made", "owner")

    def __init__(self, defaults: dict[str, Any], *, kw_only: bool) -> None:
        self.defaults = defaults
        self.kw_only = kw_only
        self.made: Any = None

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.owner = owner

    def __get__(self, one: Any, owner: type[Any]) -> Any:
        if self.made is None:
            import dataclasses

            defaults = {
                name: dataclasses.field(default_factory=value.make) if isinstance(value, _Factory) else value
                for name, value in self.defaults.items()
            }
            body = {"__annotations__": self.owner.__annotations__, "__module__": self.owner.__module__, **defaults}
            twin: Any = type(self.owner.__name__, (), body)
            made = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=self.kw_only)(twin)
            self.made = made.__dataclass_fields__
        return self.made


def _values(one: Any) -> tuple[Any, ...]:
    names = one.__record_fields__
    if len(names) > 1:
        return attrgetter(*names)(one)
    return tuple(getattr(one, name) for name in names)


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


@recursive_repr()  # trees have records that point back to their parents
def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__record_fields__)
    return f"{self.__class__.__qualname__}({values})"


def _get_state(self: Any) -> list[Any]:
    return list(_values(self))


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__record_fields__, state, strict=True):
        object.__setattr__(self, name, value)


def _refuse_set(self: Any, name: str, value: Any) -> None:
    raise _frozen(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> None:
    raise _frozen(f"cannot delete field {name!r}")


def _frozen(message: str) -> Exception:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(message)


__all__ = ["field", "field_names", "record", "replace"]
