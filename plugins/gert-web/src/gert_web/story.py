"""What a run did, step by step, as its page shows it: when, how long, what was printed, and what came in between."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api import EventType
from gert_core.hosting.steps import parent_key
from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gert_core.api import TraceEvent

SHOWN: Final = 500
"""How many steps a page shows: the last ones."""
_DEEPEST: Final = 6
_PRINTED: Final = ("stdout", "stderr")
_SEEN: Final = (*_PRINTED, "command", "exit_code")


class StepStory(Struct, kw_only=True):
    """One step as it is shown; where it stands between begin and end of the run is in percent."""

    key: str
    name: str
    type: str = ""
    status: str = "open"
    description: str = ""
    duration: str | None = None
    waited: str | None = None
    depth: int = 0
    begun: str = ""
    ended: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)
    failure: Mapping[str, Any] | None = None
    left: float = 0.0
    width: float = 0.0

    @property
    def printed(self) -> list[tuple[str, str]]:
        """What its program printed, by stream."""
        return [(name, str(self.detail[name])) for name in _PRINTED if self.detail.get(name)]

    @property
    def more(self) -> dict[str, Any]:
        """What else its end recorded."""
        return {name: value for name, value in self.detail.items() if name not in _SEEN}


class Moment(Struct, frozen=True, kw_only=True):
    """Something that happened to the run as a whole."""

    at: str
    tone: str
    text: str
    who: str = ""
    step: str = ""


class RunStory(Struct, kw_only=True):
    """The steps of a run in the order in which they began, and its moments."""

    steps: dict[str, StepStory] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    seq: int = 0

    def feed(self, event: TraceEvent) -> None:
        """Add what an event tells."""
        self.seq = event.seq
        data, key = event.data, event.step_key
        if key is not None and event.type in _STEPS:
            step = self.steps.get(key)
            if step is None:
                step = self.steps[key] = StepStory(key=key, name=str(data.get("step_id") or key), depth=_depth(key))
            _STEPS[event.type](step, event)
        made = _MOMENTS.get(event.type)
        if made is not None and (found := made(event)) is not None:
            self.moments.append(found)

    def place(self, started: str | None, finished: str | None) -> None:
        """Say where each step stands between begin and end of the run."""
        try:
            begin = parse_time(started or "")
            end = parse_time(finished) if finished else datetime.now(UTC)
        except ValueError:
            return
        whole = max((end - begin).total_seconds(), 0.001)
        for step in self.steps.values():
            if not step.begun:
                continue
            try:
                first = (parse_time(step.begun) - begin).total_seconds()
                last = (parse_time(step.ended) - begin).total_seconds() if step.ended else whole
            except ValueError:
                continue
            step.left = min(max(100 * first / whole, 0.0), 99.2)
            step.width = min(max(100 * (last - first) / whole, 0.8), 100 - step.left)


def tell(events: Iterable[TraceEvent]) -> RunStory:
    """Return the story that events tell."""
    story = RunStory()
    for event in events:
        story.feed(event)
    return story


def _depth(key: str) -> int:
    depth, parent = 0, parent_key(key)
    while parent and depth < _DEEPEST:
        depth, parent = depth + 1, parent_key(parent)
    return depth


def _begun(step: StepStory, event: TraceEvent) -> None:
    data = event.data
    step.type, step.status = str(data.get("type") or ""), "running"
    step.description = str(data.get("description") or "")
    step.inputs, step.begun, step.ended = dict(data.get("inputs") or {}), event.timestamp, ""


def _ended(step: StepStory, event: TraceEvent) -> None:
    data = event.data
    step.status, step.ended = str(data.get("status")), event.timestamp
    step.begun = step.begun or event.timestamp
    step.type = step.type or str(data.get("type") or "")
    step.duration, step.waited = data.get("duration"), data.get("waited")
    step.outputs, step.detail = dict(data.get("outputs") or {}), dict(data.get("detail") or {})
    step.failure = data.get("failure") or data.get("error")


def _waits(step: StepStory, event: TraceEvent) -> None:
    step.status = "approval_pending"


def _asks(step: StepStory, event: TraceEvent) -> None:
    step.status = "answer_pending"


_STEPS: Final[dict[str, Callable[[StepStory, TraceEvent], None]]] = {
    EventType.STEP_START: _begun,
    EventType.STEP_COMPLETE: _ended,
    EventType.APPROVAL_SUBMITTED: _waits,
    EventType.QUESTION_ASKED: _asks,
}


def _who(event: TraceEvent) -> str:
    return str((event.principal or {}).get("id") or "")


def _started(event: TraceEvent) -> Moment:
    return Moment(at=event.timestamp, tone="start", text="started", who=str(event.data.get("actor") or ""))


def _resumed(event: TraceEvent) -> Moment:
    return Moment(at=event.timestamp, tone="start", text="resumed", who=str(event.data.get("actor") or ""))


def _suspended(event: TraceEvent) -> Moment:
    return Moment(at=event.timestamp, tone="wait", text=str(event.data.get("status")))


def _complete(event: TraceEvent) -> Moment:
    outcome = event.data.get("outcome") or {}
    text = str(outcome.get("category") or event.data.get("status"))
    return Moment(at=event.timestamp, tone="end", text=text, step=str(outcome.get("code") or ""))


def _asked(event: TraceEvent) -> Moment:
    return Moment(at=event.timestamp, tone="wait", text="approval requested", step=event.step_key or "")


def _response(event: TraceEvent) -> Moment:
    counted = event.data.get("result") == "counted"
    said = "approved" if event.data.get("approved") else "rejected"
    text = said if counted else f"{said}, set aside: {event.data.get('result')}"
    tone = "good" if said == "approved" and counted else "bad"
    return Moment(at=event.timestamp, tone=tone, text=text, who=_who(event), step=event.step_key or "")


def _void(event: TraceEvent) -> Moment:
    return Moment(at=event.timestamp, tone="bad", text="approval void: the request changed", step=event.step_key or "")


def _answered(event: TraceEvent) -> Moment:
    text = "declined" if event.data.get("declined") else "answered"
    return Moment(
        at=event.timestamp, tone="good", text=text, who=str(event.data.get("by") or ""), step=event.step_key or ""
    )


_MOMENTS: Final[dict[str, Callable[[TraceEvent], Moment]]] = {
    EventType.RUN_START: _started,
    EventType.RUN_RESUMED: _resumed,
    EventType.RUN_SUSPENDED: _suspended,
    EventType.RUN_COMPLETE: _complete,
    EventType.APPROVAL_SUBMITTED: _asked,
    EventType.APPROVAL_RESPONSE: _response,
    EventType.APPROVAL_VOID: _void,
    EventType.QUESTION_ANSWERED: _answered,
}

__all__ = ["SHOWN", "Moment", "RunStory", "StepStory", "tell"]
