"""``gert answer``: answer the questions of a step of a suspended run."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.result import following, show_following
from gert_core.cli.render.terminal import escape, out
from gert_core.cli.stores import store_here, store_option

if TYPE_CHECKING:
    from gert_core.engine.answering import OpenQuestions
    from gert_core.runs.answers import StoredAnswer


def answer(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    step_key: Annotated[str, typer.Argument(metavar="STEP_KEY", help="The step that asks, by its key or id.")],
    values: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE", help="An answer; without one, each is asked for.")
    ] = None,
    reject: Annotated[
        str | None, typer.Option("--reject", metavar="REASON", help="Decline: the step fails for this reason.")
    ] = None,
    as_: Annotated[
        str | None, typer.Option("--as", metavar="ID", help="Who answers; default: the current user.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Answer what a step of a suspended run asks; a resumed run uses the answers."""
    from gert_core.engine.answering import answer as keep
    from gert_core.engine.answering import open_questions
    from gert_core.engine.run import default_actor
    from gert_core.hosting.given import parse_pairs
    from gert_core.runs.find import find_run

    given = parse_pairs(values or (), what="an answer")
    asked = open_questions(find_run(store_here(ctx.obj, store), run_id), step_key)
    by = default_actor(ctx.obj.environ) if as_ is None else as_
    if not given and reject is None:
        given = _typed(asked)
    stored = keep(asked, given, by=by, reject=reject, environ=ctx.obj.environ)
    if json:
        out(json_.dumps(_json(asked, stored), ensure_ascii=False))
    else:
        _say(asked, stored)
    return 0


def _typed(asked: OpenQuestions) -> dict[str, str]:
    """Ask for each open question at the terminal, as its step does; a refusal ends it."""
    from contextlib import closing

    from gert_core.cli.render.console import TerminalConsole
    from gert_core.engine.answering import fault_of
    from gert_core.engine.cancel import Deadline, Stop
    from gert_core.kit.answers import declined

    console, found = TerminalConsole(), dict[str, str]()
    with closing(Stop()) as stop:
        for question in asked.missing:
            name, kind, lead = str(question["name"]), str(question.get("kind")), ""
            while name not in found:
                line = console.ask(f"{lead}{question.get('prompt')}", deadline=Deadline(stop), fresh=True)
                if line is None:
                    raise UsageError(
                        f"the input ended before {name} was answered; nothing was stored",
                        kind=ErrorKind.ANSWER_INVALID,
                        hint=f"give it as {name}=VALUE",
                    )
                if declined(kind, line) is not None:
                    return {name: line}
                fault = fault_of(question, line)
                if fault is None:
                    found[name] = line
                lead = f"  {fault}\n"
    return found


def _say(asked: OpenQuestions, stored: list[StoredAnswer]) -> None:
    for one in stored:
        verb = "Answered" if one.declined is None else "Declined"
        out(escape(f"{verb} {one.name} of step {one.step_key} as {one.by}."))
    refused = any(one.declined is not None for one in asked.given.values())
    if asked.missing and not refused:
        names = ", ".join(str(question["name"]) for question in asked.missing)
        out(escape(f"Still open: {names}."))
    show_following(asked.run)


def _json(asked: OpenQuestions, stored: list[StoredAnswer]) -> dict[str, object]:
    answers = [
        {"name": one.name, "by": one.by, "at": one.at, "declined": one.declined is not None, "reason": one.declined}
        for one in stored
    ]
    missing = [str(question["name"]) for question in asked.missing]
    shown = {"run_id": asked.run.run_id, "step_key": asked.key, "answers": answers, "missing": missing}
    return {**shown, "next": following(asked.run)}


__all__ = ["answer"]
