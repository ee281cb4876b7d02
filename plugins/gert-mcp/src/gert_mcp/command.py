"""``gert mcp``: read the command line, and serve."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import urlsplit

from msgspec import Struct

from gert_core.api import UsageError
from gert_core.kit.arguments import plugin_choice
from gert_core.kit.listening import ListenAddress, listen_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import CommandHost

USAGE: Final = """\
Usage: gert mcp [OPTIONS]

Serve the runbooks below a directory to agents, over MCP: each of them is a tool. The same program is `gert-mcp`.
No tool approves, rejects, answers for a person or says what became of a step: people do, with gert's other commands.

Options:
  --root DIR...           Directories whose runbooks are served; default: the current one.
  --transport HOW         stdio (default) or http.
  --bind HOST:PORT        Where http listens; default: 127.0.0.1:8765. Other than loopback needs a token.
  --modes A,B             What agents may ask for: real, dry-run, probe; default: all of them.
  --only NAME...          Serve these runbooks only.
  --manage WHOSE          Which runs may be resumed and cancelled: own (default) or all.
  --human-client          A person sits at the client: steps ask their questions there, by forms. Approvals never do.
  --approve-url URL       Where tickets are answered; clients are given URL/tickets/ID, which asks who you are.
  --token-env NAME        The variable with the token that callers over http must send; default: GERT_MCP_KEY.
  --store URL             Where runs are kept; default: GERT_STORE, or as the project says.
  -p NAME                 Use a plugin, or with no:NAME do not.
  --help                  Show this text.
"""
MODES: Final = ("real", "dry-run", "probe")
TOKEN: Final = "GERT_MCP_KEY"  # noqa: S105 - the name of a variable
_SHORTEST: Final = 16
"""The least number of characters of a token."""
_BIND: Final = "127.0.0.1:8765"


class ServerOptions(Struct, frozen=True, kw_only=True):
    """What a command line asks for."""

    roots: tuple[Path, ...]
    transport: str = "stdio"
    bind: ListenAddress = ListenAddress(host="127.0.0.1", port=8765)
    modes: tuple[str, ...] = MODES
    only: tuple[str, ...] = ()
    manage_all: bool = False
    human_client: bool = False
    approve_url: str | None = None
    token: str | None = None
    token_env: str | None = None
    store: str | None = None
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()


class _Parser(ArgumentParser):
    """Raises what is wrong with a command line instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint="`gert mcp --help` lists the options")


def main(args: Sequence[str], host: CommandHost) -> int:
    """Run ``gert mcp``, and return its exit code."""
    if {"--help", "-h"} & set(args):
        sys.stdout.write(USAGE)
        return 0
    wanted = read(args, host.environ)
    from gert_core.kit.server_secrets import keep_from_runs
    from gert_mcp.serving import serve

    return serve(wanted, environ=keep_from_runs(host.environ, wanted.token_env, key="GERT_MCP_TOKEN_KEY"))


def read(args: Sequence[str], environ: Mapping[str, str]) -> ServerOptions:
    """Return what a command line asks for; raise ``UsageError`` for one that does not make sense."""
    parser = _Parser(prog="gert mcp", add_help=False, allow_abbrev=False)
    for name in ("--transport", "--bind", "--modes", "--manage", "--approve-url", "--token-env", "--store"):
        parser.add_argument(name)
    for name in ("--root", "--only"):
        parser.add_argument(name, action="extend", nargs="+", default=[])
    parser.add_argument("-p", action="append", default=[])
    parser.add_argument("--human-client", action="store_true")
    given = vars(parser.parse_args(list(args)))
    where = listen_address("--bind", given["bind"] or _BIND, example=_BIND)
    allow, block = plugin_choice(given["p"])
    stdio = given["transport"] != "http"
    wanted = ServerOptions(
        roots=_roots(given["root"] or ["."]),
        transport=_one_of("--transport", given["transport"], ("stdio", "http")),
        bind=where,
        modes=_modes(given["modes"]),
        only=tuple(given["only"]),
        manage_all=_one_of("--manage", given["manage"], ("own", "all")) == "all",
        human_client=given["human_client"],
        approve_url=_url(given["approve_url"]),
        token=None if stdio and given["token_env"] is None else _token(given["token_env"], environ),
        token_env=given["token_env"],
        store=given["store"],
        allow=allow,
        block=block,
    )
    if wanted.transport == "http" and not where.loopback and wanted.token is None:
        hint = f"set {given['token_env'] or TOKEN} to a token that callers send, or leave --bind out"
        raise UsageError(f"--bind {where.host} can be reached from other machines, and there is no token", hint=hint)
    return wanted


def _roots(names: Sequence[str]) -> tuple[Path, ...]:
    for name in names:
        if not Path(name).is_dir():
            raise UsageError(f"--root {name} is not a directory", hint="give the directory of a project")
    return tuple(dict.fromkeys(Path(name).resolve() for name in names))


def _one_of(option: str, text: str | None, known: Sequence[str]) -> str:
    if text is None:
        return known[0]
    if text not in known:
        raise UsageError(f"{option} takes {' or '.join(known)}, not {text!r}")
    return text


def _modes(text: str | None) -> tuple[str, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()] if text is not None else list(MODES)
    if not words or not set(words) <= set(MODES):
        raise UsageError(f"--modes takes {', '.join(MODES)}, not {text!r}")
    return tuple(mode for mode in MODES if mode in words)


def _url(text: str | None) -> str | None:
    if text is None:
        return None
    parts = urlsplit(text)
    if (
        parts.scheme not in ("http", "https")
        or not parts.netloc
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise UsageError("--approve-url takes an address that begins with http:// or https://, without a password")
    return text.rstrip("/")


def _token(name: str | None, environ: Mapping[str, str]) -> str | None:
    token = environ.get(name or TOKEN) or None
    if token is None and name is not None:
        raise UsageError(f"--token-env names {name}, which is not set", hint="put the token there, or leave it out")
    if token is not None and len(token) < _SHORTEST:
        raise UsageError(f"the token in {name or TOKEN} has fewer than {_SHORTEST} characters", hint="use a longer one")
    return token


__all__ = ["MODES", "TOKEN", "USAGE", "ServerOptions", "main", "read"]
