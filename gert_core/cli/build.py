"""Build the Typer app of one verb, for the command lines that ``gert_core.cli.reader`` leaves to Typer."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import typer
from typer.main import get_command

from gert_core.cli.examples import lines
from gert_core.cli.render.help import fit, help_width
from gert_core.cli.verbs import COMMANDS, VERBS, commands_of
from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def build(verb: str) -> Any:
    """Return the command of a verb, or its group of commands, as Typer makes it from their declarations."""
    commands = commands_of(verb)
    app = typer.Typer(
        help=_help(verb, VERBS[verb]),
        add_completion=False,
        no_args_is_help=bool(commands),
        rich_markup_mode=None,  # plain help: rich takes longer to import than a runbook takes to validate
        pretty_exceptions_enable=False,
    )
    for name, target in commands.items():
        function = load_target(target)
        text = inspect.cleandoc(function.__doc__ or "")
        short = " ".join(text.partition("\n\n")[0].split())  # given, it is not cut off in the list of commands
        app.command(name=name, help=_help(f"{verb} {name}", text), short_help=short)(function)
    if commands:
        app.callback()(_group)
    else:
        function = load_target(COMMANDS[verb])
        app.command(name=verb, help=_help(verb, function.__doc__ or VERBS[verb]))(function)
    command = get_command(app)
    fit(command, help_width())
    return command


def commands() -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """Yield every command as typed, its function, and Typer's command with its parameters."""
    for verb in VERBS:
        built = build(verb)
        for name, target in (commands_of(verb) or {"": COMMANDS.get(verb, "")}).items():
            yield f"{verb} {name}".strip(), load_target(target), built.commands[name] if name else built


def _help(command: str, text: str) -> str:
    """Return what a command does, then its examples; ``\\b`` keeps their lines apart."""
    found = lines(command, width=help_width())
    parts = [inspect.cleandoc(text)]
    if found:
        parts.append("\n".join(["\b", "Examples:", *(f"  {line}" for line in found)]))
    return "\n\n".join(parts)


def _group() -> None:
    """Do nothing; Typer keeps a group with a callback a group, also when it has a single command."""


__all__ = ["build", "commands"]
