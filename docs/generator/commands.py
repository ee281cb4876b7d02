"""The reference of the command line, from the verbs' own declarations."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gert_core.cli.build import commands
from gert_core.cli.examples import lines
from gert_core.cli.verbs import VERBS

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

When something is unclear, `GERT_LOG=debug gert ...` shows what gert and its plugins log (loggers `gert.*`; also `info`,
`warning` and `error`), and `GERT_DEBUG=1 gert ...` the traceback of an internal error or of a plugin that failed.
Secrets and keys are masked in both. All variables: [environment](environment.md).
"""


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION.rstrip()]
    seen: set[str] = set()
    for path, function, command in commands():
        verb, _, word = path.partition(" ")
        if word and verb not in seen:
            parts.append(f"## `gert {verb}`\n\n{VERBS[verb]}")
        seen.add(verb)
        parts.append(_command(path, function, command, level=3 if word else 2))
    return "\n\n".join(parts) + "\n"


def _command(path: str, function: Callable[..., Any], command: Any, *, level: int) -> str:
    text = inspect.cleandoc(function.__doc__ or "")
    arguments, options = [], []
    usage = [f"gert {path}"]
    for parameter in command.params:
        default = _default(parameter)
        if parameter.param_type_name == "argument":
            metavar = (parameter.metavar or parameter.name.upper()) + ("..." if parameter.nargs == -1 else "")
            usage.append(metavar if parameter.required else f"[{metavar}]")
            arguments.append((metavar, (parameter.help or "") + default))
        elif not parameter.hidden:
            value = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
            spelled = ", ".join(f"`{spelling}{value}`" for spelling in parameter.opts)
            if parameter.required:
                usage.append(f"{parameter.opts[0]}{value}")
            options.append((spelled, (parameter.help or "") + default))
    if options:
        usage.insert(1, "[OPTIONS]")
    out = [f"{'#' * level} `gert {path}`", f"```text\n{' '.join(usage)}\n```", text.replace("``", "`")]
    if arguments or options:
        rows = [f"| `{_cell(name)}` | {_cell(meaning)} |" for name, meaning in arguments]
        rows += [f"| {_cell(name)} | {_cell(meaning)} |" for name, meaning in options]
        out.append("\n".join(["| | |", "|---|---|", *rows]))
    found = lines(path)
    if found:
        out.append("```sh\n" + "\n".join(found) + "\n```")
    return "\n\n".join(out)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or getattr(parameter, "is_flag", False):
        return ""
    return f" Default `{value.as_posix() if isinstance(value, Path) else value}`."


__all__ = ["page"]
