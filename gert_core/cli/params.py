"""How verbs declare their parameters: light records that Typer is built from when it is needed.

Importing Typer costs more than checking a runbook, so a command line that is spelled right is read by
``gert_core.cli.quick`` from these records alone. Help, completion and every error message come from Typer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api.record import field, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.cli.session import Options


class Option:
    """An option: its spellings, what it takes and what it is for."""

    __slots__ = ("help", "hidden", "metavar", "min", "names")

    def __init__(
        self,
        *names: str,
        help: str = "",  # noqa: A002 - Typer's word
        metavar: str | None = None,
        min: int | None = None,  # noqa: A002
        hidden: bool = False,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.min = min
        self.hidden = hidden


class Argument:
    """A positional argument."""

    __slots__ = ("help", "metavar")

    def __init__(self, *, metavar: str | None = None, help: str = "") -> None:  # noqa: A002 - Typer's word
        self.metavar = metavar
        self.help = help


class Context:
    """What a verb may know beside its parameters: ``obj`` holds the global options."""

    __slots__ = ("obj",)

    def __init__(self, obj: Options) -> None:
        self.obj = obj


@record(frozen=False, kw_only=False)
class Group:
    """A verb with commands of its own."""

    summary: str
    commands: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def command(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a command under ``name``."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.commands[name] = function
            return function

        return register


__all__ = ["Argument", "Context", "Group", "Option"]
