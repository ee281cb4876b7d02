"""Reads a command line that is spelled right without Typer; anything unusual is left to Typer."""

from __future__ import annotations

from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

from gert_core.cli.params import Argument, Context, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UNUSUAL: Final = object()
"""The answer when Typer must look at the command line."""


def read(function: Callable[..., Any], args: Sequence[str], context: Context) -> Any:
    """The keyword arguments of a verb's function, or ``UNUSUAL``."""
    try:
        return _Reader(function, context).read(list(args))
    except _Unusual:
        return UNUSUAL


class _Unusual(Exception):  # noqa: N818 - not an error: somebody else decides
    """Help is wanted, or something is misspelled, missing or out of range."""


class _Parameter:
    """One parameter of a verb: how it is spelled and what it becomes."""

    __slots__ = ("convert", "declared", "flag", "many", "name", "required")

    def __init__(self, name: str, annotation: Any, declared: Option | Argument, *, required: bool) -> None:
        kind, self.many = _kind(annotation)
        if kind not in (str, int, bool, Path):
            raise _Unusual
        self.name = name
        self.declared = declared
        self.required = required
        self.flag = kind is bool
        self.convert: Callable[[str], Any] = kind

    def value(self, text: str) -> Any:
        try:
            value = self.convert(text)
        except ValueError:
            raise _Unusual from None
        least = getattr(self.declared, "min", None)
        if least is not None and value < least:
            raise _Unusual
        return value


class _Reader:
    """The parameters of one function."""

    def __init__(self, function: Callable[..., Any], context: Context) -> None:
        self.values: dict[str, Any] = {}
        self.options: dict[str, _Parameter] = {}
        self.arguments: list[_Parameter] = []
        hints = get_type_hints(function, include_extras=True)
        code, defaults = function.__code__, _defaults(function)
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            hint = hints[name]
            if hint is Context:
                self.values[name] = context
                continue
            if get_origin(hint) is not Annotated:
                raise _Unusual
            annotation, declared = get_args(hint)[:2]
            found = _Parameter(name, annotation, declared, required=name not in defaults)
            if isinstance(declared, Argument):
                self.arguments.append(found)
            else:
                self.options.update(dict.fromkeys(declared.names, found))

    def read(self, args: list[str]) -> dict[str, Any]:
        words: list[str] = []
        while args:
            word = args.pop(0)
            if word == "--":
                words += args
                break
            if not word.startswith("-") or word == "-":
                words.append(word)
                continue
            self._option(word, args)
        self._positional(words)
        missing = [p for p in (*self.options.values(), *self.arguments) if p.required and p.name not in self.values]
        if missing:
            raise _Unusual
        return self.values

    def _option(self, word: str, args: list[str]) -> None:
        name, equals, text = word.partition("=")
        parameter = self.options.get(name)
        if parameter is None:
            raise _Unusual
        if parameter.flag:
            if equals:
                raise _Unusual
            self.values[parameter.name] = True
            return
        if not equals:
            if not args:
                raise _Unusual
            text = args.pop(0)
        value = parameter.value(text)
        if parameter.many:
            self.values.setdefault(parameter.name, []).append(value)
        else:
            self.values[parameter.name] = value

    def _positional(self, words: list[str]) -> None:
        for parameter in self.arguments:
            if parameter.many:
                if words:
                    self.values[parameter.name] = [parameter.value(word) for word in words]
                words = []
            elif words:
                self.values[parameter.name] = parameter.value(words.pop(0))
        if words:
            raise _Unusual


def _defaults(function: Callable[..., Any]) -> set[str]:
    """The parameters that may be left out; ``inspect`` knows as well, but takes longer to import than to ask here."""
    code, given = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    return {*positional[len(positional) - len(given) :], *(function.__kwdefaults__ or ())}


def _kind(annotation: Any) -> tuple[Any, bool]:
    """The type of one value and whether there may be many: ``list[Path] | None`` is (Path, True)."""
    if isinstance(annotation, UnionType):
        (annotation,) = (option for option in get_args(annotation) if option is not NoneType)
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False


__all__ = ["UNUSUAL", "read"]
