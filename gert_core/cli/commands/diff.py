"""``gert diff``: replay scenarios and show what changed since they were recorded, or since a revision."""

from __future__ import annotations

import json as json_
from contextlib import ExitStack
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated

from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.scenario_options import all_option, runbooks_argument, scenario_option

if TYPE_CHECKING:
    from gert_core.scenarios.diffing.compare import DiffReport


def diff(
    ctx: typer.Context,
    files: Annotated[list[Path], runbooks_argument()],
    scenario: Annotated[list[str] | None, scenario_option()] = None,
    everything: Annotated[bool, all_option()] = False,
    against: Annotated[
        str | None, typer.Option("--against", metavar="REV", help="Compare with the documents of this git revision.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Replay golden scenarios and show whose outcome, steps, outputs or decisions changed. Nothing real is touched.

    Before is the recorded run, else what test.yaml expects, or with --against what a replay of that revision comes to.
    """
    from gert_core.cli.commands.test import Runners
    from gert_core.scenarios.diffing.compare import Diffed
    from gert_core.scenarios.diffing.diff import Revision, differences
    from gert_core.scenarios.plan import Plan
    from gert_core.scenarios.select import Golden

    runner = Runners(ctx.obj, floor=False).of
    selection = Golden(names=scenario or (), everything=everything)
    plan = Plan(files, selection, runner=runner, warn=lambda remark: err(escape(f"warning: {remark}")))
    reports: dict[str, DiffReport] = {}
    shown: DiffReport | None = None
    with ExitStack() as stack:
        earlier = None if against is None else stack.enter_context(Revision(against, runner)).runner
        for report, found in differences(plan, earlier=earlier):
            if not json:
                from gert_core.cli.render.differences import head, lines, summary

                if report is not shown:
                    if shown is not None:
                        out(summary(shown))
                    out(head(report))
                    shown = report
                for line in lines(found):
                    out(line)
            reports[report.runbook] = report
        if shown is not None:
            out(summary(shown))
    done = Diffed(runbooks=tuple(reports.values()))
    if json:
        out(json_.dumps(done.to_json(), ensure_ascii=False, default=str))
    return 0 if done.same else 1


__all__ = ["diff"]
