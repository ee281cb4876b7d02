"""The table by which ``gert_core.cli.reader`` reads command lines, from the commands' Typer declarations."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, get_args, get_origin

import typer

from gert_core.cli.build import commands

HEAD: Final = '''"""How every command is spelled; written by docs/generate.py from the commands' Typer declarations."""

from __future__ import annotations

from typing import Final, TypeAlias

Parameter: TypeAlias = tuple[str, tuple[str, ...], str, bool, bool, int | None, int | None]
"""Name, spellings (none: an argument), type, whether it takes many values, whether it is required, least, most."""

# fmt: off
PARAMETERS: Final[dict[str, tuple[Parameter, ...]]] = {
'''
TYPES: Final = {str: "text", int: "int", Path: "path"}
FREE_PATH: Final = {
    **dict.fromkeys(("exists", "readable", "writable", "resolve_path", "allow_dash"), False),
    **dict.fromkeys(("file_okay", "dir_okay"), True),
    "path_type": None,
}
"""The settings of a path that Typer takes as it is written."""


def page() -> str:
    """Return the whole module."""
    lines = [HEAD]
    for path, function, command in commands():
        lines.append(f'    "{path}": (\n')
        known = {parameter.name: parameter for parameter in command.params}
        for name, declared in inspect.signature(function, eval_str=True).parameters.items():
            row = repr(_row(name, declared.annotation, known.get(name))).replace("'", '"')
            lines.append(f"        {row},\n")
        lines.append("    ),\n")
    return "".join([*lines, '}\n\n__all__ = ["PARAMETERS", "Parameter"]\n'])


def _row(name: str, annotation: Any, parameter: Any) -> tuple[Any, ...]:
    if annotation is typer.Context:
        return (name, (), "context", False, False, None, None)
    if get_origin(annotation) is not Annotated:
        raise TypeError(f"{name} is not declared with typer.Option or typer.Argument")
    kind, info = get_args(annotation)[:2]
    option = isinstance(info, type(typer.Option("--x")))
    spellings = tuple(parameter.opts) if option else ()
    many = bool(parameter.multiple) if option else parameter.nargs == -1
    return (name, spellings, _type(kind, info, parameter), many, bool(parameter.required), info.min, info.max)


def _type(kind: Any, info: Any, parameter: Any) -> str:
    """Return the word for a type, or ``typer`` for one whose values only Typer can read."""
    if isinstance(kind, UnionType):
        (kind,) = (option for option in get_args(kind) if option is not NoneType)
    if kind is bool:
        return "flag" if parameter.is_flag and not parameter.secondary_opts else "typer"
    if get_origin(kind) is list:
        (kind,) = get_args(kind)
    special = (info.callback, info.parser, info.envvar, getattr(info, "prompt", False))
    checked = kind is Path and any(getattr(info, name) != free for name, free in FREE_PATH.items())
    if any(special) or checked:
        return "typer"
    return "count" if getattr(info, "count", False) else TYPES.get(kind, "typer")


__all__ = ["page"]
