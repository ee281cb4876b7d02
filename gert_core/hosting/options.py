"""Read the options of ``gert exec`` for other programs that start runs, together with options of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api import UsageError
from gert_core.hosting.given import parse_pairs, read_inputs
from gert_core.kit.arguments import plugin_choice, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ONCE: Final = {
    "--mode": "mode",
    "--scenario": "scenario",
    "--approval": "approval",
    "--questions": "questions",
    "--as": "actor",
    "--store": "store",
    "--record": "record",
}
"""Options of ``gert exec`` with one value, and what it is called here."""
MANY: Final = ("--var", "--input", "--policy", "-p")
"""Options that may be given several times."""
ELSEWHERE: Final = (
    "--keep",
    "--trace",
    "--trace-sync",
    "--no-input",
    "--probe-allow-effects",
    "--pending-exit-code",
    "--no-preflight",
    "--floor",
    "--fail-on",
    "--no-notify",
)
"""Options of ``gert exec`` that a host has no use for."""


class StartOptions(Struct, frozen=True, kw_only=True):
    """What a command line says about a run.

    ``Host(root, **options.host)`` and ``host.start(options.runbook, **options.start)`` take it.
    ``own`` has the options of the program itself: True for a flag, else the value.
    """

    runbook: Path | None = None
    start: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, str | bool] = field(default_factory=dict)


def parse(args: Sequence[str], *, own: Mapping[str, bool] | None = None) -> StartOptions:
    """Read ``[FILE] [OPTION]...`` as ``gert exec`` does; raise ``UsageError`` for what is not one of its options.

    ``own`` names the options of the program itself, and whether each takes a value.
    """
    known = dict(own or {})
    options = dict.fromkeys((*ONCE, *MANY), True) | known
    words = read_words(args, options, many=MANY, unknown=lambda name: _unknown(name, [*ONCE, *MANY, *known]))
    if len(words.rest) > 1:
        raise UsageError(f"one runbook is run, not {len(words.rest)}: {', '.join(words.rest)}")
    return StartOptions(
        runbook=Path(words.rest[0]) if words.rest else None,
        start=_start(words.values, words.many),
        host=_host(words.values, words.many["-p"]),
        own={name: value for name, value in words.values.items() if name in known},
    )


def _start(values: Mapping[str, str | bool], many: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        target: values[name] for name, target in ONCE.items() if name in values and target != "store"
    }
    given = {**read_inputs(map(Path, many["--input"])), **parse_pairs(many["--var"], what="--var")}
    if given:
        found["inputs"] = given
    if many["--policy"]:
        found["policies"] = tuple(many["--policy"])
    return found


def _host(values: Mapping[str, str | bool], plugins: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"store": values["--store"]} if "--store" in values else {}
    allow, block = plugin_choice(plugins)
    return found | ({"allow": allow} if allow else {}) | ({"block": block} if block else {})


def _unknown(name: str, known: Sequence[str]) -> UsageError:
    from gert_core.documents.model_hints import suggest

    if name in ELSEWHERE:
        return UsageError(f"{name} is an option of gert exec only", hint="leave it out, or use gert exec")
    return UsageError(f"there is no option {name}", hint=suggest(name, known) or f"options are {', '.join(known)}")


__all__ = ["ELSEWHERE", "MANY", "ONCE", "StartOptions", "parse"]
