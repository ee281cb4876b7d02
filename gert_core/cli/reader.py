"""Read a command line that is spelled right without Typer, whose import takes half as long as validating a runbook.

``gert_core.cli.parameters`` lists how each command is spelled; it is generated from the commands' Typer declarations.
The reader returns exactly what Typer would, or nothing: help, unusual spellings and mistakes are left to Typer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gert_core.cli.parameters import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gert_core.cli.parameters import Parameter
    from gert_core.cli.session import Options

_DIGITS: Final = 18


class CommandContext:
    """Stands in for Typer's context, of which commands use the global options only."""

    __slots__ = ("obj",)

    def __init__(self, obj: Options) -> None:
        self.obj = obj


def read(command: str, args: Sequence[str], context: object) -> dict[str, Any] | None:
    """Return the arguments to call a command's function with, or None when Typer has to read the command line."""
    parameters = PARAMETERS.get(command)
    try:
        return None if parameters is None else _read(parameters, list(args), context)
    except _LeftToTyper:
        return None


class _LeftToTyper(Exception):  # noqa: N818 - not an error: Typer decides whether it is one
    """Help is wanted, or something is misspelled, missing, out of range or merely unusual."""


def _read(parameters: Sequence[Parameter], args: list[str], context: object) -> dict[str, Any]:
    options = {spelling: parameter for parameter in parameters for spelling in parameter[1]}
    values: dict[str, object] = {}
    words: list[str] = []
    while args:
        word = args.pop(0)
        if word == "--":
            words += args
            break
        if word.startswith("-") and word != "-":
            _option(options, word, args, values)
        else:
            words.append(word)
    for parameter in parameters:
        name, spellings, kind, many, required, *_ = parameter
        if kind == "context":
            values[name] = context
        elif not spellings and words:
            values[name] = [_value(parameter, word) for word in words] if many else _value(parameter, words.pop(0))
            words = [] if many else words
        elif required and name not in values:
            raise _LeftToTyper
    if words:
        raise _LeftToTyper
    return values


def _option(options: dict[str, Parameter], word: str, args: list[str], values: dict[str, Any]) -> None:
    name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
    parameter = options.get(name)
    times = 1
    if parameter is None and not equals and len(name) > 2 and set(name[1:]) == {name[1]}:  # -vv
        parameter, times = options.get(name[:2]), len(name) - 1
    if parameter is None or (times > 1 and parameter[2] != "count"):
        raise _LeftToTyper
    target, _, kind, many, *_ = parameter
    if kind in ("flag", "count"):
        if equals:
            raise _LeftToTyper
        values[target] = True if kind == "flag" else values.get(target, 0) + times
        return
    if not equals:
        if not args:
            raise _LeftToTyper
        text = args.pop(0)
    value = _value(parameter, text)
    if many:
        values.setdefault(target, []).append(value)
    else:
        values[target] = value


def _value(parameter: Parameter, text: str) -> object:
    *_, kind, _, _, least, most = parameter
    convert = _CONVERSIONS.get(kind)
    if convert is None:
        raise _LeftToTyper
    value = convert(text)
    if (least is not None and value < least) or (most is not None and value > most):
        raise _LeftToTyper
    return value


def _whole_number(text: str) -> int:
    """Return the number that these digits are; Typer knows more ways to write one."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _DIGITS or (digits[0] == "0" and text != "0"):
        raise _LeftToTyper
    return int(text)


_CONVERSIONS: Final[dict[str, Callable[[str], Any]]] = {"text": str, "path": Path, "int": _whole_number}

__all__ = ["CommandContext", "read"]
