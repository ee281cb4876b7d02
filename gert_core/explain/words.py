"""Say in one line each what a step is going to do and how: its type's detail, its loop, its blocks, common fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.contracts import action_outputs, find_action
from gert_core.documents.tree import ITSELF
from gert_core.kit.excerpts import shorten
from gert_core.kit.time_spans import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import Block, Gate
    from gert_core.documents.retry import RetryPolicy
    from gert_core.documents.runbook import StepFields
    from gert_core.documents.tool import ActionModel
    from gert_core.documents.tree import Runbook, StepNode, ToolNode

SCOPE: Final = "scope"
ARTIFACTS: Final = "artifacts"
RETRY: Final = "retry"
CONTINUES: Final = "if it fails"
JUMP: Final = "goes on at"
_BRACES: Final = re.compile(r"\{\{-?((?:(?!\{\{|-?\}\}).)*+)-?\}\}", re.DOTALL)
_PAUSES: Final = 5
"""The number of pauses that are listed of a retry policy."""
_LONGEST: Final = 4000
"""The most characters that a type says of a step; it is one line, or what a person is told."""
_CWD: Final = {
    "caller": "the caller's directory",
    ITSELF: "the tool's directory",
    "runbook": "the runbook's directory",
    "project": "the project's directory",
}


def without_braces(text: str) -> str:
    """Return a text of a document with the expressions of its templates alone."""
    return _BRACES.sub(lambda found: found[1].strip(), text)


def as_condition(value: object) -> str:
    """Return a condition or number as people read it: without the braces, if it is one expression."""
    if isinstance(value, bool):
        return str(value).lower()
    text = "" if value is None else str(value).strip()
    inner = text[2:-2]
    if text.startswith("{{") and text.endswith("}}") and "{{" not in inner and "}}" not in inner:
        return inner.strip("- \n\t")
    return text


def detail_of(book: Runbook, step: StepNode, body: object = None) -> str:
    """Return what a step does: in its type's words, or the tool and action, the program or the outcome.

    ``body`` is the step as it is rendered; without one it is shown as it is written, on one line. The lines of what is
    rendered stay, because secrets in it are masked later.
    """
    functions = book.functions
    if found := shorten(functions.detail(step, body), _LONGEST):
        return " ".join(found.split()) if body is None else found
    use = functions.tool_use(step)
    if use is not None:
        return f"{use.tool} {use.action}" if use.action else use.tool
    if (program := functions.program(step, body)) is not None:
        return program
    outcome = functions.outcome(step, body)
    if outcome is None:
        return ""
    return f"{outcome.category} ({outcome.code})" if outcome.code else str(outcome.category)


def loop_words(step: StepNode) -> str:
    """Return over what a step with ``for_each`` runs and until when; empty for any other step."""
    loop = step.fields.for_each
    if loop is None:
        return ""
    over = loop.over
    what = f"{len(over)} items" if isinstance(over, (list, dict)) else as_condition(over)
    parts = [f"for each {loop.as_} in {what}"]
    if loop.parallel:
        parts.append(f"{loop.max_parallel} at a time" if loop.max_parallel is not None else "at the same time")
    if loop.until is not None:
        parts.append(f"until {as_condition(loop.until)}")
    return ", ".join(parts)


def selection(value: object) -> str:
    """Return what selects a block: ``if`` with an expression, or the word that its type has for all other cases."""
    text = as_condition(value)
    return f"if {text}" if text and (isinstance(value, bool) or "{{" in str(value)) else text


def block_words(block: Block) -> str:
    """Return a block by its name, and what decides whether, when, how often and how long it runs."""
    parts = [selection(block.condition)] if block.condition is not None else []
    parts += [block.label] if block.label else []
    parts += [f"after {', '.join(block.after)}"] if block.after else []
    if block.cleanup:
        parts.append("after a failure" if block.runs[0] < 1 else "in any case")
        parts.append(f"within {duration_text(block.timeout)}")
    parts += [f"then on to {block.jump}"] if block.jump else []
    return f"{block.name}: {', '.join(parts)}" if parts else block.name


def gate_words(gate: Gate) -> str:
    """Return the terms of the approval that a step demands: of whom, until when, and what a rejection does."""
    people = "1 person" if gate.min_approvers == 1 else f"{gate.min_approvers} people"
    among = f" among {', '.join(gate.approvers)}" if gate.approvers else ""
    within = f", within {duration_text(gate.timeout)}" if gate.timeout is not None else ""
    return f"an approval by {people}{among}{within}; a rejection {'fails the step' if gate.fails else 'ends the run'}"


def retry_words(policy: RetryPolicy) -> str:
    """Return a retry policy: ``up to 3 attempts, after 2s, 4s``."""
    shown = min(policy.max - 1, _PAUSES)
    pauses = ", ".join(duration_text(policy.pause(number)) for number in range(1, shown + 1))
    more = ", …" if policy.max - 1 > shown else ""
    kinds = f", on {', '.join(sorted(policy.on))}" if policy.on is not None else ""
    return f"up to {policy.max} attempts, after {pauses}{more}{kinds}"


def artifact_words(step: StepNode) -> tuple[str, ...]:
    """Return what a step keeps after success, as the runbook has it."""
    given: Any = step.fields.artifacts
    if isinstance(given, list):
        return tuple(given)
    from gert_core.documents.parts import ArtifactFile

    return tuple(f"{key} ({one.path if isinstance(one, ArtifactFile) else 'value'})" for key, one in given.items())


def notes_of(book: Runbook, step: StepNode) -> Iterator[tuple[str, str]]:
    """Yield what the common fields of a step say, and what its tool adds, each with the word it is shown under."""
    fields = step.fields
    tool, action = _used(book, step)
    allowed = (action.retry if action else None) or (tool.tool.meta.retry if tool else None)
    if fields.retry is not None or allowed is not None:
        from gert_core.documents.retry import policy_of

        policy = policy_of(fields.retry, allowed)
        if policy is not None and policy.max > 1:
            yield RETRY, retry_words(policy)
    if fields.timeout is not None and "timeout" not in step.type.owns:
        yield "timeout", _limit(step, fields.timeout)
    if action is not None and action.exit_codes is not None:
        yield "exit codes", f"{', '.join(map(str, action.exit_codes))} are answers"
    if secrets := _secret_outputs(book, step):
        yield "secret outputs", ", ".join(secrets)
    if tool is not None and tool.tool.meta.cwd is not None:
        yield "runs in", _CWD[tool.tool.meta.cwd]
    yield from _own_notes(fields)
    if artifacts := artifact_words(step):
        yield ARTIFACTS, ", ".join(artifacts)


def _limit(step: StepNode, seconds: float) -> str:
    """Return the time limit of a step, and whose shorter one around it applies instead."""
    owner = step.limited_by()
    if owner is None or owner.fields.timeout is None:
        return duration_text(seconds)
    return f"{duration_text(seconds)}, cut short by the {duration_text(owner.fields.timeout)} of {owner.id}"


def _own_notes(fields: StepFields) -> Iterator[tuple[str, str]]:
    if fields.continue_on_fail:
        yield CONTINUES, "the run goes on"
    if fields.next is not None:
        goal, most = (fields.next, None) if isinstance(fields.next, str) else (fields.next.step, fields.next.max)
        yield JUMP, goal if most is None else f"{goal} (max {as_condition(most)})"
    if fields.scope is not None:
        yield SCOPE, fields.scope
    if exports := fields.exports:
        yield "exports", ", ".join(name if name == source else f"{name} = {source}" for name, source in exports.items())
    if (who := fields.principal) is not None:
        role = f" ({who.role})" if not isinstance(who, str) and who.role else ""
        yield "acts as", "the agent that each item names" if isinstance(who, str) else f"{who.kind} {who.id}{role}"
    if fields.visibility is not None:
        allowed = fields.visibility.allow
        seen = "all variables" if allowed is None else ", ".join(allowed) or "no variable"
        yield "sees", seen + (f", except {', '.join(fields.visibility.deny)}" if fields.visibility.deny else "")
    if fields.checkpoint is not None:
        yield "checkpoint", fields.checkpoint


def _secret_outputs(book: Runbook, step: StepNode) -> tuple[str, ...]:
    """Return the outputs of a step's action that are masked from the moment they are read."""
    use = book.functions.tool_use(step)
    tool = book.tools.get(use.tool) if use is not None else None
    if use is None or tool is None:
        return ()
    try:
        return tuple(name for name, param in action_outputs(tool, use.action).items() if param.secret)
    except LookupError:
        return ()


def _used(book: Runbook, step: StepNode) -> tuple[ToolNode | None, ActionModel | None]:
    """Return the tool and the action that a step uses; nothing where the runbook does not have them."""
    use = book.functions.tool_use(step)
    tool = book.tools.get(use.tool) if use is not None else None
    if use is None or tool is None:
        return None, None
    try:
        return tool, find_action(tool, use.action)[1]
    except LookupError:
        return tool, None


__all__ = [
    "ARTIFACTS",
    "CONTINUES",
    "JUMP",
    "RETRY",
    "SCOPE",
    "artifact_words",
    "as_condition",
    "block_words",
    "detail_of",
    "gate_words",
    "loop_words",
    "notes_of",
    "retry_words",
    "selection",
    "without_braces",
]
