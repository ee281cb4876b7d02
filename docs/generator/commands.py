"""The reference of the command line, from the verbs' own declarations."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

from gert_core.cli.examples import lines
from gert_core.cli.params import Argument, Group, Option
from gert_core.cli.verbs import installed
from gert_core.plugin.lazy import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

INTRODUCTION: Final = """# Command line

<!-- Written by docs/generate.py from gert_core/cli: change it there. -->

```text
gert [-p NAME] COMMAND [ARGS]...
```

| option | meaning |
|---|---|
| `-p NAME` | Load a plugin the project does not list; `-p no:NAME` leaves one out. Repeatable. |
| `--version` | Show the version. |
| `--help` | Show the commands; `gert COMMAND --help` explains one. |

The result goes to standard output, progress and warnings to standard error. `--json` prints exactly one JSON document,
also when the command fails. What the numbers mean: [exit codes](exit-codes.md). Plugins can add commands of their own.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION.rstrip()]
    for name, verb in installed().items():
        target = resolve(verb.target)
        if isinstance(target, Group):
            parts.append(f"## `gert {name}`\n\n{verb.summary}")
            parts += [_command(f"{name} {word}", function, level=3) for word, function in target.commands.items()]
        else:
            parts.append(_command(name, target, level=2))
    return "\n\n".join(parts) + "\n"


def _command(command: str, function: Callable[..., Any], *, level: int) -> str:
    text = inspect.cleandoc(function.__doc__ or "")
    arguments, options = [], []
    hints = get_type_hints(function, include_extras=True)
    usage = [f"gert {command}"]
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if get_origin(hint) is not Annotated:
            continue
        kind, declared = get_args(hint)[:2]
        if isinstance(declared, Argument):
            metavar = (declared.metavar or name.upper()).strip("[]")
            needed = parameter.default is inspect.Parameter.empty
            usage.append(metavar if needed else f"[{metavar}]")
            arguments.append((metavar, declared.help + _default(parameter.default, flag=False)))
        elif isinstance(declared, Option) and not declared.hidden:
            flag = kind is bool
            value = "" if flag else f" {declared.metavar or 'VALUE'}"
            spelled = ", ".join(f"`{spelling}{value}`" for spelling in declared.names)
            needed = parameter.default is inspect.Parameter.empty
            if needed:
                usage.append(f"{declared.names[0]}{value}")
            options.append((spelled, declared.help + _default(parameter.default, flag=flag)))
    if options:
        usage.insert(1, "[OPTIONS]")
    out = [f"{'#' * level} `gert {command}`", f"```text\n{' '.join(usage)}\n```", text.replace("``", "`")]
    if arguments or options:
        rows = [f"| `{_cell(name)}` | {_cell(meaning)} |" for name, meaning in arguments]
        rows += [f"| {_cell(name)} | {_cell(meaning)} |" for name, meaning in options]
        out.append("\n".join(["| | |", "|---|---|", *rows]))
    found = lines(command)
    if found:
        out.append("```sh\n" + "\n".join(found) + "\n```")
    return "\n\n".join(out)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(value: Any, *, flag: bool) -> str:
    if value is inspect.Parameter.empty or value is None or flag:
        return ""
    return f" Default `{value.as_posix() if isinstance(value, Path) else value}`."


__all__ = ["page"]
