"""``gert runs logs``: print what the tools of a run wrote, and with ``--follow`` what they write."""

from __future__ import annotations

import json as json_
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any, Final

from gert_core.api import EventType, UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.step import no_step
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.render.timeline import wanted
from gert_core.cli.stores import store_here, store_option
from gert_core.kit.display import readable_key
from gert_core.kit.files import UnreadableError
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.stream import follow_events
from gert_core.runs.outputs import kept_outputs, read_output
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import StoredRun, TraceEvent

    Call = tuple[str, int, int]

_STREAMS: Final = ("stdout", "stderr")
_LOOK: Final = 0.25
"""Seconds between two looks at what tools have written."""


def logs(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    step: Annotated[str | None, typer.Argument(metavar="[STEP]", help="Only this step: an id or a step key.")] = None,
    stream: Annotated[
        str | None, typer.Option("--stream", metavar="NAME", help="Only stdout or stderr, of calls that have ended.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is written, until the run ends.")
    ] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Print what the tools of a run wrote, also of calls that were stopped or that a kill interrupted."""
    if stream not in (None, *_STREAMS):
        raise UsageError(f"--stream takes {' or '.join(_STREAMS)}, not {stream!r}")
    if follow and json:
        raise UsageError("--follow prints as it goes, and --json one document", hint="leave one out")
    run = find_run(store_here(ctx.obj, store), run_id)
    calls = _Calls(step, _STREAMS if stream is None else (stream,))
    if follow:
        _Following(run, calls, kept=stream is None).show()
        return 0
    for event in read(run, run_id=run.run_id):
        calls.take(event)
    if step is not None and not calls.keys:
        raise no_step(run, step)
    if stream is None:
        calls.add_kept(run)
    if json:
        rows = [{"step_key": k, "attempt": a, "call": c, "text": text} for (k, a, c), text in calls.ordered()]
        head = {"run_id": run.run_id, "mode": calls.mode}
        out(json_.dumps({**head, "logs": rows, "unreadable": calls.unreadable}, ensure_ascii=False))
        return 0
    for problem in calls.unreadable:
        err(escape(f"left out: {problem}"))
    if not calls.found:
        err("nothing that these steps wrote is kept" if step is not None else "nothing that its tools wrote is kept")
    for call, text in calls.ordered():
        _head(call)
        for line in text.splitlines():
            out(f"  {escape(line)}")
    return 0


def _head(call: Call) -> None:
    key, attempt, number = call
    more = f"  attempt {attempt}{f', call {number}' if number > 1 else ''}" if attempt > 1 or number > 1 else ""
    out(paint(f"▸ {escape(readable_key(key))}{more}", "bold"))


class _Calls:
    """What the calls of a run wrote, as its trace has it; a file of the run, which is complete, replaces it."""

    def __init__(self, step: str | None, streams: Sequence[str]) -> None:
        self._step = step
        self._streams = streams
        self._attempts: dict[str, int] = {}
        self.found: dict[Call, str] = {}
        self.keys: dict[str, None] = {}
        self.unreadable: list[str] = []
        self.mode: str | None = None

    def take(self, event: TraceEvent) -> None:
        """Take an event of the trace."""
        if event.type == EventType.RUN_START:
            self.mode = event.data.get("mode")
        if event.step_key is None or not wanted(event, step=self._step, kind=None):
            return
        key, data = event.step_key, event.data
        self.keys[key] = None
        if event.type == EventType.STEP_START:
            self._attempts[key] = 1
        elif event.type == EventType.STEP_ATTEMPT:
            number = int(data.get("attempt") or 1)
            self._add(key, number - 1, (data.get("previous") or {}).get("detail"))
            self._add(key, number, data.get("detail"))
            self._attempts[key] = number
        elif event.type == EventType.STEP_COMPLETE:
            self._add(key, self._attempts.get(key, 1), data.get("detail"))

    def _add(self, key: str, attempt: int, detail: Mapping[str, Any] | None) -> None:
        texts = [str(value) for name in self._streams if (value := (detail or {}).get(name))]
        if texts:
            self.found[key, attempt, 1] = "\n".join(text.removesuffix("\n") for text in texts)

    def add_kept(self, run: StoredRun) -> None:
        """Take the files of the run."""
        for kept in kept_outputs(run, self.keys):
            try:
                self.found[kept.key, kept.attempt, kept.number] = read_output(run, kept)
            except UnreadableError as error:
                self.unreadable.append(error.message)

    def ordered(self) -> list[tuple[Call, str]]:
        """Return the calls in the order of their steps."""
        order = {key: number for number, key in enumerate(self.keys)}
        return sorted(self.found.items(), key=lambda call: (order[call[0][0]], *call[0][1:]))


class _Following:
    """Prints what tools write while they write it: whole lines, each behind a line that names its call."""

    def __init__(self, run: StoredRun, calls: _Calls, *, kept: bool) -> None:
        self._run = run
        self._calls = calls
        self._kept = kept
        self._shown: dict[Call, int] = {}
        self._sizes: dict[str, int] = {}
        self._last: Call | None = None
        self._looked = 0.0

    def show(self) -> None:
        """Print until the run ends, waits for people, or nothing executes it any more."""
        for event in follow_events(self._run, follow=True, sleep=self._sleep):
            self._calls.take(event)
        self._print(rest=True)

    def _sleep(self, seconds: float) -> None:
        if time.monotonic() - self._looked >= _LOOK:
            self._print(rest=False)
            self._looked = time.monotonic()
        time.sleep(seconds)

    def _print(self, *, rest: bool) -> None:
        if self._kept and self._grown():
            self._calls.add_kept(self._run)
        for call, text in self._calls.ordered():
            begin = self._shown.get(call, 0)
            end = len(text) if rest else text.rfind("\n") + 1
            if end <= begin:
                continue
            if call != self._last:
                _head(call)
            self._last, self._shown[call] = call, end
            for line in text[begin:end].splitlines():
                out(f"  {escape(line)}")
        if sys.stdout is not None:
            sys.stdout.flush()

    def _grown(self) -> bool:
        """Return whether a file of the run has another size than before."""
        infos = ((kept.name, self._run.info(kept.name)) for kept in kept_outputs(self._run, self._calls.keys))
        sizes = {name: info.size for name, info in infos if info is not None}
        before, self._sizes = self._sizes, sizes
        return sizes != before


__all__ = ["logs"]
