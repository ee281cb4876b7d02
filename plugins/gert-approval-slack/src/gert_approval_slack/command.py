"""``gert slack listen``: read the command line, and take answers from Slack until it is stopped."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api import UsageError
from gert_core.kit.arguments import plugin_choice, read_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import CommandHost

USAGE: Final = """\
Usage: gert slack listen [OPTIONS]

Receive answers to approvals from Slack over Socket Mode, and rewrite the messages of tickets that are settled. Slack
needs no way to this machine: it is connected to from here. `gert web` receives the same answers over HTTP.

It reads the secrets of the Slack app and the bridge's key, so run it as another user than those who start runs.

Options:
  --root DIR              The project whose tickets are answered; default: the current directory.
  --store URL             Where runs are kept; default: GERT_STORE, or as the project says.
  -p NAME                 Use a plugin, or with no:NAME do not.
  --help                  Show this text.
"""


def main(args: Sequence[str], host: CommandHost) -> int:
    """Run ``gert slack``, and return its exit code."""
    if {"--help", "-h"} & set(args):
        sys.stdout.write(USAGE)
        return 0
    words = read_words(args, dict.fromkeys(("--root", "--store", "-p"), True), many=("-p",))
    if list(words.rest) != ["listen"]:
        given = f"not {' '.join(words.rest)!r}" if words.rest else "and nothing was given"
        raise UsageError(f"gert slack takes one word, listen, {given}", hint="`gert slack --help` lists the options")
    root, store = (str(words.values[name]) if name in words.values else None for name in ("--root", "--store"))
    if root is not None and not Path(root).is_dir():
        raise UsageError(f"--root {root} is not a directory", hint="give the directory of a project")
    return _listen(root or ".", store, words.many["-p"], host)


def _listen(root: str, store: str | None, plugins: Sequence[str], host: CommandHost) -> int:
    from gert_approval_slack.listening import listen
    from gert_core.hosting import Host, Stop
    from gert_core.hosting.interrupt import interrupts
    from gert_core.kit.server_secrets import hide_memory
    from gert_core.kit.unread import unwaited_stderr

    hide_memory()
    stop = Stop()
    allow, block = plugin_choice(plugins)
    # What is not read is dropped: waiting for its reader, it would neither take answers nor end.
    with (
        closing(stop),
        interrupts(stop),
        unwaited_stderr(),
        Host(root, environ=host.environ, store=store, allow=allow, block=block) as opened,
    ):
        listen(opened, stop, lambda text: sys.stderr.write(f"{text}\n"))
    return 0


__all__ = ["USAGE", "main"]
