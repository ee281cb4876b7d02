"""Find the verb, import only that verb, and turn its result into an exit code."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import UsageError
from gert_core.cli import early, reader
from gert_core.cli.errors import hide_keys, report_exception
from gert_core.cli.lean import lean, restore
from gert_core.cli.log import logged
from gert_core.cli.render.terminal import COLOUR, choose_colour, err, out
from gert_core.cli.session import Options, registry_for
from gert_core.cli.verbs import COMMANDS, RUNS, VERBS
from gert_core.plugin.kinds import COMMAND
from gert_core.plugin.printing import replaced_stdout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import Command
    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry

_HELP: Final = {"--help", "-h"}
_OPTIONS: Final = (
    ("-p NAME", "Load a plugin that the project does not list; -p no:NAME leaves one out. Repeatable."),
    ("--color WHEN", "auto, always or never; default auto: on a terminal, unless NO_COLOR is set."),
    ("--version", "Show the version."),
    ("--help", "Show this text; `gert COMMAND --help` explains a command."),
)


def run(args: Sequence[str]) -> int:
    """Run one command line and return its exit code; never raise."""
    as_json = "--json" in _before_dashes(args)
    choose_colour(None)
    try:
        with lean() as environ, logged(environ, lambda text: hide_keys(text, environ)):
            code = _dispatch(list(args), environ)
            if sys.stdout is not None:
                sys.stdout.flush()
    except BaseException as exc:  # noqa: BLE001, RUF100 - the last line of defence: every ending has an exit code
        if (groups := sys.modules.get("gert_core.kit.processes.group")) is not None:
            groups.kill_all()
        return report_exception(exc, as_json=as_json)
    return code


def _dispatch(args: list[str], environ: Mapping[str, str]) -> int:
    words, rest = _take_plugins(_take_colour(args), leading=True)
    if not rest or rest[0] in _HELP:
        out(_help(Options(plugins=words, environ=environ)))
        return 0 if rest else UsageError.exit_code
    verb, rest = rest[0], rest[1:]
    if verb == "--version":
        from gert_core import __version__

        out(f"gert {__version__}")
        return 0
    if verb.startswith("-"):
        raise UsageError(f"there is no option {verb!r}", hint="`gert --help` lists options and commands")
    own = verb in VERBS
    more, rest = _take_plugins(rest, leading=False) if own else ((), rest)
    options = Options(plugins=words + more, environ=environ)
    try:
        with replaced_stdout() if own else nullcontext():
            return _verb(verb, rest, options) if own else _plugin_command(verb, rest, options)
    finally:
        for close in options.opened:
            close()


def _verb(verb: str, args: list[str], options: Options) -> int:
    """Call a verb's function, with the arguments that the reader or Typer makes of the command line."""
    command, words = (verb, args) if verb in COMMANDS else (f"{verb} {args[0]}" if args else verb, args[1:])
    given = reader.read(command, words, reader.CommandContext(options))
    if command not in RUNS:
        early.raise_on_interrupt()
    if given is not None:
        from gert_core.plugin.lazy import load_target

        result = load_target(COMMANDS[command])(**given)
    else:
        from gert_core.cli.build import build

        result = build(verb).main(args=args, prog_name=f"gert {verb}", standalone_mode=False, obj=options)
    return result if isinstance(result, int) else 0


def _plugin_command(verb: str, args: list[str], options: Options) -> int:
    from gert_core.plugin.lazy import load_target

    registry, project = _registry(options)
    commands = _plugin_commands(registry)
    if verb not in commands:
        from gert_core.cli.neighbours import neighbour
        from gert_core.kit.nearest import nearest

        known, near = neighbour(verb), nearest(verb, [*VERBS, *commands])
        hint = f"did you mean `gert {near}`?" if near else "`gert --help` lists the commands"
        raise UsageError(f"there is no command {verb!r}", hint=known or hint)
    function = load_target(commands[verb].target)
    early.raise_on_interrupt()
    restore(options.environ)
    from gert_core.cli.command_host import TerminalHost, call_command

    return call_command(function, args, TerminalHost(verb, registry=registry, project=project, options=options))


def _registry(options: Options) -> tuple[Registry, Project | None]:
    from gert_core.cli.session import project_or_warning

    project = project_or_warning()
    return registry_for(project, options), project


def _plugin_commands(registry: Registry) -> dict[str, Command]:
    given = registry.commands()
    for name in sorted(given.keys() & VERBS.keys()):
        (owner,) = registry.providers(COMMAND, name)
        err(f"warning: plugin {owner.label}: its command {name!r} is left out because gert has one of that name")
    return {name: command for name, command in given.items() if name not in VERBS}


def _help(options: Options) -> str:
    from gert_core.cli.render.help import definitions, help_width, wrap

    width = help_width()
    verbs = list(VERBS.items())
    given = [(name, command.summary) for name, command in sorted(_plugin_commands(_registry(options)[0]).items())]
    column = max(len(name) for name, _ in (*verbs, *given, *_OPTIONS))
    lines = ["Usage: gert [-p NAME] COMMAND [ARGS]...", "", *wrap("Governed, replayable runbooks.", width)]
    lines += ["", "Commands:", *definitions(verbs, width=width, column=column)]
    if given:
        lines += ["", "Commands of plugins:", *definitions(given, width=width, column=column)]
    lines += ["", "Start here:", *(f"  {line}" for line in ("gert init demo && cd demo", "gert test ."))]
    lines += ["", "Options:", *definitions(_OPTIONS, width=width, column=column)]
    return "\n".join(lines)


def _take_plugins(args: Sequence[str], *, leading: bool) -> tuple[tuple[str, ...], list[str]]:
    """Take ``-p WORD`` out of the arguments: the leading ones only, or all in front of ``--``."""
    words: list[str] = []
    rest: list[str] = []
    pending = list(args)
    while pending:
        word = pending.pop(0)
        if word == "-p":
            if not pending:
                raise UsageError("-p needs the name of a plugin", hint="`gert plugins list` shows the names")
            words.append(pending.pop(0))
        elif word.startswith("-p") and not word.startswith("--"):
            words.append(word[2:])
        elif leading or word == "--":
            rest += [word, *pending]
            break
        else:
            rest.append(word)
    return tuple(words), rest


def _take_colour(args: Sequence[str]) -> list[str]:
    """Take ``--color WHEN`` out of the arguments in front of ``--``, and let it decide about colour."""
    pending, rest = list(_before_dashes(args)), []
    behind = list(args[len(pending) :])
    while pending:
        word = pending.pop(0)
        name, equals, value = word.partition("=")
        if name != "--color":
            rest.append(word)
            continue
        when = value if equals else pending.pop(0) if pending else ""
        if when not in COLOUR:
            raise UsageError(f"--color takes {', '.join(COLOUR)}, not {when!r}")
        choose_colour(when)
    return rest + behind


def _before_dashes(args: Sequence[str]) -> Sequence[str]:
    return args[: args.index("--")] if "--" in args else args


__all__ = ["run"]
