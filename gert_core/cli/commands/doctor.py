"""``gert doctor``: check the installation, the project and the runs, and say which level of trust is reached."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated

from gert_core.cli.doctor import documents, plugins, setup, trust
from gert_core.cli.doctor import runs as runs_checks
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import escape, out, paint
from gert_core.cli.stores import store_of, store_option

if TYPE_CHECKING:
    from gert_core.cli.doctor import Checked
    from gert_core.cli.doctor.trust import Level
    from gert_core.cli.session import Options

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    ctx: typer.Context,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Check what runs here rely on, and say what is missing for the next level of trust."""
    checks, levels = _look(ctx.obj, store)
    if json:
        document = {
            "checks": [check.to_json() for check in checks],
            "level": _reached(levels),
            "levels": [{"level": level.name, "missing": list(level.missing)} for level in levels],
        }
        out(json_.dumps(document, ensure_ascii=False))
    else:
        _print(checks, levels)
    return 1 if any(check.status == "fail" for check in checks) else 0


def _look(options: Options, given: str | None) -> tuple[list[Checked], list[Level]]:
    project, found = setup.check_project()
    registry, loaded = setup.check_plugins(project, options)
    policies, valid = setup.check_policies(project, registry)
    kept, named = runs_checks.check_store(lambda: store_of(project, options, given, registry))
    checks = [
        setup.check_versions(),
        loaded,
        found,
        setup.check_floor(),
        valid,
        trust.check_people(policies, options.environ),
        *trust.check_keys(options.environ, registry),
        trust.check_secrets(options.environ, project),
        *documents.check_documents(project, registry, options.environ),
        *named,
        *plugins.check_by_plugins(registry, project, options.environ, kept),
        setup.check_terminal(),
    ]
    failed = any(check.status == "fail" for check in checks)
    return checks, trust.levels(policies, options.environ, kept, failed=failed)


def _reached(levels: list[Level]) -> str | None:
    reached = None
    for level in levels:
        if level.missing:
            break
        reached = level.name
    return reached


def _print(checks: list[Checked], levels: list[Level]) -> None:
    column = max(len(check.check) for check in checks)
    for check in checks:
        status = paint(f"{check.status:<4}", _COLOURS[check.status])
        out(f"{status}  {check.check:<{column}}  {escape(check.message)}")
        if check.hint:
            out(f"      {'':<{column}}  hint: {escape(check.hint)}")
    out()
    out(f"level: {_reached(levels) or 'none'}")
    short = next((level for level in levels if level.missing), None)
    if short is not None:
        out(f"missing for {short.name}:")
        for what in short.missing:
            out(f"  - {escape(what)}")


__all__ = ["doctor"]
