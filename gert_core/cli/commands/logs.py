"""``gert runs logs``: print what the tools of a run wrote."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated, Any

from gert_core.api import EventType
from gert_core.cli.lazy import typer
from gert_core.cli.render.step import no_step
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.render.timeline import wanted
from gert_core.cli.stores import store_here, store_option
from gert_core.kit.display import readable_key
from gert_core.kit.files import UnreadableError
from gert_core.runs.find import find_run
from gert_core.runs.outputs import kept_outputs, read_output
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import TraceEvent

    Calls = dict[tuple[str, int, int], str]


def logs(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    step: Annotated[str | None, typer.Argument(metavar="[STEP]", help="Only this step: an id or a step key.")] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Print what the tools of a run wrote, also of calls that were stopped or that a kill interrupted."""
    run = find_run(store_here(ctx.obj, store), run_id)
    found: Calls = {}
    keys: dict[str, None] = {}
    attempts: dict[str, int] = {}
    mode: str | None = None
    unreadable: list[str] = []
    for event in read(run, run_id=run.run_id):
        if event.type == EventType.RUN_START:
            mode = event.data.get("mode")
        if event.step_key is None or not wanted(event, step=step, kind=None):
            continue
        keys[event.step_key] = None
        _recorded(event, attempts, found)
    if step is not None and not keys:
        raise no_step(run, step)
    for kept in kept_outputs(run, keys):
        try:
            found[kept.key, kept.attempt, kept.number] = read_output(run, kept)
        except UnreadableError as error:
            unreadable.append(error.message)
    order = {key: number for number, key in enumerate(keys)}
    calls = sorted(found.items(), key=lambda call: (order[call[0][0]], *call[0][1:]))
    if json:
        rows = [{"step_key": k, "attempt": a, "call": c, "text": text} for (k, a, c), text in calls]
        head = {"run_id": run.run_id, "mode": mode}
        out(json_.dumps({**head, "logs": rows, "unreadable": unreadable}, ensure_ascii=False))
        return 0
    for problem in unreadable:
        err(escape(f"left out: {problem}"))
    if not calls:
        err("nothing that these steps wrote is kept" if step is not None else "nothing that its tools wrote is kept")
    for (key, attempt, call), text in calls:
        number = f"  attempt {attempt}{f', call {call}' if call > 1 else ''}" if attempt > 1 or call > 1 else ""
        out(paint(f"▸ {escape(readable_key(key))}{number}", "bold"))
        for line in text.splitlines():
            out(f"  {escape(line)}")
    return 0


def _recorded(event: TraceEvent, attempts: dict[str, int], found: Calls) -> None:
    """Take what the trace has of a call; a file of the run, which is complete, replaces it."""
    key, data = str(event.step_key), event.data
    if event.type == EventType.STEP_START:
        attempts[key] = 1
    elif event.type == EventType.STEP_ATTEMPT:
        number = int(data.get("attempt") or 1)
        _take(found, key, number - 1, (data.get("previous") or {}).get("detail"))
        _take(found, key, number, data.get("detail"))
        attempts[key] = number
    elif event.type == EventType.STEP_COMPLETE:
        _take(found, key, attempts.get(key, 1), data.get("detail"))


def _take(found: Calls, key: str, attempt: int, detail: Mapping[str, Any] | None) -> None:
    texts = [str(value) for name in ("stdout", "stderr") if (value := (detail or {}).get(name))]
    if texts:
        found[key, attempt, 1] = "\n".join(text.removesuffix("\n") for text in texts)


__all__ = ["logs"]
