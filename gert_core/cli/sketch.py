"""Write a drafted scenario and its test as text: canned answers, and the result of replaying them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from gert_core.scenarios.names import StepPart, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.documents.tree import Runbook, StepNode
    from gert_core.runs.result import RunResult
    from gert_core.scenarios.draft import Draft

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def scenario_text(draft: Draft, *, name: str) -> str:
    """Return a ``scenario.yaml`` with every input, answer and piece of evidence of a draft."""
    lines = [f"description: {name}, in one sentence."]
    if draft.inputs:
        lines += ["inputs:", *_entries(draft.inputs)]
    if draft.tool_responses:
        lines.append("tool_responses:                # by tool and action; used up in this order")
        for key, replies in draft.tool_responses.items():
            lines += [f"  {json.dumps(key)}:", *(f"    - {{outputs: {_json(reply)}}}" for reply in replies)]
    for title, found in (("steps", draft.steps), ("evidence", draft.evidence)):
        if found:
            lines += [f"{title}:", *_entries(found)]
    if draft.unasked:
        title = "" if draft.evidence else "evidence: "
        lines.append(f"# {title}# of steps that this run does not reach: uncomment what another one needs")
        lines += [f"# {line}" for line in _entries(draft.unasked)]
    return "\n".join(lines) + "\n"


def test_text(result: RunResult, book: Runbook, *, name: str) -> str:
    """Return a ``test.yaml`` that expects the result of a replay; an error is never expected."""
    if result.status == "error":
        return (
            f"# The replay of the draft ends in an error: {draft_error(result)}\n"
            "# Complete scenario.yaml, then write here what should come of it.\n"
            f"description: {name}, to be completed.\n"
        )
    lines = [
        "# What a replay came to when this was written: change it to what should come of it.",
        f"expected_status: {result.status}",
    ]
    if result.outcome is not None:
        lines.append(f"expected_outcome: {result.outcome.category}")
        if result.outcome.code:
            lines.append(f"expected_code: {json.dumps(result.outcome.code)}")
    nodes = list(book.walk())
    reached = {step.step_id for step in result.steps if step.status != "skipped"}
    reached -= {node.id for node in nodes if node.fields.for_each and not _has_items(node, result)}
    named = [node.id for node in nodes if node.named and node.id in reached]
    named += _inside(result, book) if book.included else []
    if named:
        lines.append(f"must_reach: [{', '.join(named)}]")
    return "\n".join(lines) + "\n"


def _inside(result: RunResult, book: Runbook) -> list[str]:
    """Return the steps of included runbooks that were reached, by the ids of the steps around them."""
    found: dict[str, None] = {}
    for step in result.steps:
        place = book.find(step.key)
        if step.status != "skipped" and place is not None and place[0] is not book and place[1].named:
            parts, _ = parts_of(step.key)
            ids = [part.id for part in parts if isinstance(part, StepPart) and not part.id.startswith("@")]
            found["/".join(ids)] = None
    return list(found)


def draft_error(result: RunResult) -> str:
    """Return why the replay of a draft ended in an error, on one line."""
    first = result.failures[0]
    where = f"step {first.key}: " if first.key else ""
    return " ".join(f"{where}{first.message} ({first.kind})".split())


def _has_items(node: StepNode, result: RunResult) -> bool:
    """Return whether a loop had items; without any it does not count as reached."""
    return any(step.step_id == node.id and step.key.endswith("]") for step in result.steps)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _entries(values: Mapping[str, object]) -> Iterator[str]:
    for name, value in values.items():
        yield f"  {name if _PLAIN_KEY.fullmatch(name) else json.dumps(name)}: {_json(value)}"


__all__ = ["draft_error", "scenario_text", "test_text"]
