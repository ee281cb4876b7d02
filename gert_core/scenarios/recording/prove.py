"""Prove a recording: what is going to be written is replayed, and must come to what the run came to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import DocumentError, GertError
from gert_core.documents import yaml
from gert_core.documents.scenario import SCENARIO_FILE, ScenarioModel
from gert_core.documents.standalone import load_strictly
from gert_core.scenarios.recording.compose import ComposingBackend, given_by_people
from gert_core.scenarios.recording.text import to_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.documents.tree import Runbook
    from gert_core.scenarios.observe import Seen
    from gert_core.scenarios.recording.fold import Taken, TakenResult
    from gert_core.scenarios.recording.placeholders import Placeholders
    from gert_core.scenarios.run import ScenarioRunner

_ROUNDS: Final = 4
"""How often a recording is composed anew because a step of its replay ended otherwise."""
_SHOWN: Final = 3


class Proof(Struct, frozen=True, kw_only=True):
    """A composed scenario as its document, and how its replay differs from the run; empty when it does not."""

    document: Mapping[str, Any]
    differences: tuple[str, ...] = ()

    @property
    def faithful(self) -> bool:
        """Whether the replay came to what the run came to."""
        return not self.differences


def prove(taken: Taken, masks: Placeholders, book: Runbook, runner: ScenarioRunner) -> Proof:
    """Compose the scenario of a run and replay it; steps that end otherwise are given by their whole results."""
    given, by_key = given_by_people(taken, masks, book), set[str]()
    document: dict[str, Any] = {}
    differences: tuple[str, ...] = ()
    for _ in range(_ROUNDS):
        composing = ComposingBackend(taken, masks, book, given, by_key=by_key)
        runner.observe(ScenarioModel.model_validate(given), composing)
        document = _document(given, composing)
        try:
            seen = runner.observe(read_back(document))
        except GertError as error:  # such as an input that the runbook does not accept
            return Proof(document=document, differences=(f"it cannot be replayed: {error.message}",))
        differences = tuple(_differences(taken, masks, seen))
        wrong = {key for key in _different_steps(taken, masks, seen) if key not in by_key}
        if not wrong:
            break
        by_key |= wrong
    return Proof(document=document, differences=differences)


def _document(given: Mapping[str, Any], composed: ComposingBackend) -> dict[str, Any]:
    return {
        **({"actor": given["actor"]} if "actor" in given else {}),
        "inputs": given["inputs"],
        "tool_responses": {name: repeated(found) for name, found in composed.tool_responses.items()},
        "steps": composed.steps,
        "evidence": composed.evidence,
        "approvals": given["approvals"],
        "principals": composed.principals,
    }


def read_back(document: Mapping[str, Any]) -> ScenarioModel:
    """Return the scenario that a reader of the written text gets."""
    written = yaml.loads(to_yaml(document).encode(), name=SCENARIO_FILE)
    return load_strictly(Path(SCENARIO_FILE), ScenarioModel, what="scenario", document=written, error=DocumentError)


def repeated(responses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return responses with equal ones in a row written once."""
    found: list[dict[str, Any]] = []
    for response in responses:
        last = {name: value for name, value in found[-1].items() if name != "times"} if found else None
        if last == response:
            found[-1]["times"] = found[-1].get("times", 1) + 1
        else:
            found.append(dict(response))
    return found


def _differences(taken: Taken, masks: Placeholders, seen: Seen) -> Iterator[str]:
    """Yield in words what differs between the run and its replay."""
    state = taken.state
    if seen.status != state.status:
        yield f"the status is {seen.status} instead of {state.status}"
    wanted = masks.put(state.outcome) if state.status == "completed" else None
    found = None if seen.outcome is None else seen.outcome.to_json()
    if _compared(wanted) != _compared(found):
        yield "the outcome is another one"
    before, after = taken.statuses, seen.statuses
    if odd := [key for key in {**before, **after} if before.get(key) != after.get(key)]:
        yield f"steps end otherwise: {_some(odd)}"
    outputs = masks.put(dict(state.outputs))
    if odd := [name for name in {**outputs, **seen.outputs} if outputs.get(name) != seen.outputs.get(name)]:
        yield f"outputs differ: {_some(odd)}"
    if seen.missed:
        yield f"the replay needs {_some(seen.missed)}"


def _compared(outcome: Mapping[str, Any] | None) -> object:
    return None if outcome is None else (outcome.get("category"), outcome.get("code"), outcome.get("meta") or {})


def _different_steps(taken: Taken, masks: Placeholders, seen: Seen) -> Iterator[str]:
    """Yield the leaves that were replayed and ended otherwise than in the run."""
    for key, step in taken.steps.items():
        replayed = seen.steps.get(key)
        if not step.acts or not step.attempts or replayed is None:
            continue
        wanted = step.attempts[-1]
        if replayed.status != wanted.status or not _same_values(wanted, masks, replayed.data):
            yield key


def _same_values(wanted: TakenResult, masks: Placeholders, data: Mapping[str, Any]) -> bool:
    outputs, fields = masks.put(dict(wanted.outputs)), masks.put(dict(wanted.fields))
    if outputs != data.get("outputs", {}):
        return False
    replayed = data.get("fields", {})
    return all(replayed.get(name) == value for name, value in fields.items() if value is not None)


def _some(names: Any) -> str:
    found = list(map(str, names))
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


__all__ = ["Proof", "prove", "read_back", "repeated"]
