"""Builds Typer apps from the verbs' own declarations, for help, completion and error messages."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from gert_core.cli.examples import lines
from gert_core.cli.params import Argument, Context, Group, Option

if TYPE_CHECKING:
    from collections.abc import Callable


def app_for(verb: str, target: Any, *, summary: str) -> typer.Typer:
    """A Typer app for a verb: one command, or a group of them."""
    app = typer.Typer(
        help=_help(verb, summary),
        add_completion=False,
        no_args_is_help=isinstance(target, Group),
        rich_markup_mode=None,  # plain help: rich would cost more than all of gert
        pretty_exceptions_enable=False,
    )
    if isinstance(target, Group):
        for name, function in target.commands.items():
            text = inspect.cleandoc(function.__doc__ or "")
            short = " ".join(text.partition("\n\n")[0].split())  # given, it is not cut off in the list of commands
            app.command(name=name, help=_help(f"{verb} {name}", text), short_help=short)(_typed(function))
        app.callback()(_nothing)
    else:
        app.command(name=verb, help=_help(verb, target.__doc__ or summary))(_typed(target))
    return app


def _help(command: str, text: str | None) -> str:
    """What a command does, then its examples; ``\\b`` keeps their lines apart."""
    found = lines(command)
    parts = [inspect.cleandoc(text or "")]
    if found:
        parts.append("\n".join(["\b", "Examples:", *(f"  {line}" for line in found)]))
    return "\n\n".join(parts)


def _nothing() -> None:
    """Keeps a group a group when it has a single command."""


def _typed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with Typer's own annotations in place of the light ones."""
    hints = get_type_hints(function, include_extras=True)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    parameters = [
        parameter.replace(annotation=_annotation(name, hints[name]))
        for name, parameter in inspect.signature(function).parameters.items()
    ]
    call.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": int}
    del call.__wrapped__
    return call


def _annotation(name: str, hint: Any) -> Any:
    if hint is Context:
        return typer.Context
    if get_origin(hint) is not Annotated:
        return hint
    kind, declared = get_args(hint)[:2]
    if isinstance(declared, Option):
        more: dict[str, Any] = {} if declared.min is None else {"min": declared.min}
        info = typer.Option(
            *declared.names, help=declared.help, metavar=declared.metavar, hidden=declared.hidden, **more
        )
        return Annotated[kind, info]
    if isinstance(declared, Argument):
        # Typer adds its own dots and brackets for what may be repeated or left out.
        metavar = (declared.metavar or name.upper()).removeprefix("[").removesuffix("]").removesuffix("...")
        return Annotated[kind, typer.Argument(metavar=metavar, help=declared.help)]
    return hint


__all__ = ["app_for"]
