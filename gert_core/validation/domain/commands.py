"""Check the commands of a tool's actions: no shell words, and programs that are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.kit.programs import find_program
from gert_core.template import to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from gert_core.api import Transport
    from gert_core.documents.tool import ActionModel, ToolModel
    from gert_core.plugin.registry import Registry

    Add = Callable[..., None]

_SHELL: Final = frozenset({"|", "||", "&&", "&", ">", ">>", "<", "2>", "2>>", "2>&1", "&>", "|&"})
_COMPARING: Final = frozenset({"expr", "test", "[", "[["})
"""Programs that such words mean something to."""


_INSTALL: Final = "install it, or set `meta.binary`; no change needed if it is run elsewhere"


def check_command(add: Add, tool: ToolModel, name: str, action: ActionModel) -> None:
    """Report words that only a shell understands, with the command as a shell would run it."""
    argv = [to_text(word) for word in action.argv]
    binary = tool.meta.binary
    if argv and binary:
        argv[0] = binary
    if not argv or argv[0].rpartition("/")[2] in _COMPARING:
        return
    index = next((index for index, word in enumerate(argv) if index and word in _SHELL), None)
    if index is not None:
        add(
            "not-acted-on",
            f"`{argv[index]}` is handed to `{argv[0]}` as an argument: no shell is involved",
            path=("actions", name, "argv", index),
            hint=f"{'move it to a tool without `binary`, as' if binary else 'write'} `argv: {_spelled(argv)}`",
        )


def _spelled(argv: list[str]) -> str:
    """Return a command for a shell as a list; what is rendered is handed over, so that it is never read as code."""
    import shlex  # only mistakes need it

    words: list[str] = []
    values: list[str] = []
    for word in argv:
        if word in _SHELL:
            words.append(word)
        elif "{{" in word:
            values.append(word)
            words.append(f'"${len(values)}"')
        else:
            words.append(shlex.quote(word))
    script = _quoted(" ".join(words))
    return f"[sh, -c, {', '.join([script, *(['sh'] if values else []), *map(_quoted, values)])}]"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def check_programs(
    add: Add,
    tool: ToolModel,
    *,
    registry: Registry,
    environ: Mapping[str, str],
    used: Container[str] | None,
    cwd: str | None,
) -> None:
    """Report programs that are not found here, of the actions that are used, each once."""
    transport = transport_of(tool, registry)
    if transport is None or not transport.starts_program:
        return
    binary = tool.meta.binary
    seen: set[tuple[str, object]] = set()
    for name, action in tool.actions.items():
        if used is not None and name not in used:
            continue
        program = binary or (to_text(action.argv[0]) if action.argv else "")
        path = action.env.get("PATH")
        if not program or "{{" in f"{path}{program}" or (program, path) in seen:
            continue
        seen.add((program, path))
        if "/" in program and cwd is None and not program.startswith("/"):
            continue  # it starts where the caller is, which may be anywhere
        if find_program(program, environ if path is None else {"PATH": str(path)}, cwd) is None:
            where = "is not an executable file" if "/" in program else "is not on PATH"
            add(
                "program-missing",
                f"program `{program}` {where}, so steps that use `{tool.meta.name}` will fail here",
                path=("meta", "binary") if binary else ("actions", name, "argv", 0),
                hint=_INSTALL if binary else _split([to_text(word) for word in action.argv], environ) or _INSTALL,
            )


def _split(argv: list[str], environ: Mapping[str, str]) -> str:
    """Return the hint about a command whose first word is a whole line, if what that begins with is found."""
    words = argv[0].split()
    if len(words) < 2 or find_program(words[0], environ, None) is None:
        return ""
    return f"no shell splits it: write `argv: [{', '.join(map(_quoted, [*words, *argv[1:]]))}]`"


def transport_of(tool: ToolModel, registry: Registry) -> Transport | None:
    """Return the transport of a tool, if it is installed."""
    wanted = tool.meta.transport
    if wanted is not None:
        return registry.transport(wanted)
    return next((found for found in registry.transports().values() if found.default), None)


def check_required(add: Add, tool: ToolModel, name: str, action: ActionModel, transport: Transport | None) -> None:
    """Report the fields that an action lacks although its transport cannot call it without them."""
    if transport is None:
        return
    for field in transport.requires:
        if not getattr(action, field, None) and not (field == "argv" and tool.meta.binary):
            message = f"action `{name}` has no `{field}`, which the transport `{transport.name}` needs to call it"
            add("missing-field", message, path=("actions", name), key=True, hint=f"add `{field}` to the action")


__all__ = ["check_command", "check_programs", "check_required", "transport_of"]
