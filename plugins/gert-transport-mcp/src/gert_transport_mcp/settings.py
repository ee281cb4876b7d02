"""Read how a server is reached from a tool's document: its program or address, its token and the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from gert_core.api import ErrorKind, StepProblem

if TYPE_CHECKING:
    from gert_core.api import Action, Target

STDIO = "stdio"


class Settings(BaseModel):
    """The ``meta.config`` of a tool."""

    model_config = ConfigDict(extra="forbid")

    token_env: str | None = None
    """The variable that holds a bearer token, for servers with an address."""
    protocol: Literal["auto", "legacy", "2026-07-28"] = "auto"
    """Which protocol to speak: ``auto`` asks the server, ``legacy`` is the one with a handshake (2025-11-25)."""


def settings_of(target: Target) -> Settings:
    """Return the settings of a tool; raise ``StepProblem`` for those that do not exist."""
    try:
        return Settings.model_validate(dict(target.config))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        why = first["msg"] if first["type"] != "extra_forbidden" else "there is no such setting"
        known = ", ".join(Settings.model_fields)
        raise _refused(f"meta.config.{name} of tool {target.tool!r}: {why}; it takes {known}") from None


def address_of(target: Target) -> str | None:
    """Return the address of a server, None for one that is started as a program."""
    connect = target.connect or STDIO
    if connect == STDIO:
        return None
    if connect.startswith(("http://", "https://")):
        return connect
    raise _refused(
        f"meta.connect of tool {target.tool!r} is `stdio` or an address that begins with http:// or https://"
    )


def headers_of(target: Target, settings: Settings) -> dict[str, str]:
    """Return the headers of every request to a server with an address."""
    name = settings.token_env
    if name is None:
        return {}
    token = target.environ.get(name)
    if not token:
        raise StepProblem(
            ErrorKind.SECRET_MISSING,
            f"tool {target.tool!r} needs {name}, which is not set; list it under `secrets` of the tool",
            acted=False,
            retryable=False,
        )
    return {"Authorization": f"Bearer {token}"}


def command_of(target: Target, action: Action) -> tuple[str, ...]:
    """Return the command line that starts a server."""
    command = (target.binary, *action.argv[1:]) if target.binary else action.argv
    if not command:
        raise _refused(f"tool {target.tool!r} has no program; set meta.binary, or meta.connect to an address")
    return command


def tool_name(action: Action) -> str:
    """Return the name of the server's tool: ``mcp_tool``, or the action's own."""
    name = action.config.get("mcp_tool")
    return name if isinstance(name, str) and name else action.name


def _refused(message: str) -> StepProblem:
    return StepProblem(ErrorKind.SPAWN, message, acted=False, retryable=False)


__all__ = ["STDIO", "Settings", "address_of", "command_of", "headers_of", "settings_of", "tool_name"]
