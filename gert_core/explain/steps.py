"""Explain the steps of a runbook before it runs: contract, risk, decision, recovery, conflicts, secrets, variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.contracts import PROBE_EFFECTS, probe_refusal, risk_line
from gert_core.explain.conflicts import Conflict, Orders, conflicts
from gert_core.explain.origins import Origin, origins
from gert_core.explain.variables import Input, Set, inputs_of, sets_of
from gert_core.explain.words import (
    as_condition,
    block_words,
    detail_of,
    gate_words,
    loop_words,
    notes_of,
    without_braces,
)
from gert_core.governance.explain import Considered, consider
from gert_core.validation.domain.secrets import SecretNeed, step_secrets
from gert_core.validation.reads import Read, variables_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gert_core.api import Contract
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Path, Runbook, StepNode
    from gert_core.governance.decision import Decision
    from gert_core.governance.explain import RuleMatch
    from gert_core.governance.policies import Policies
    from gert_core.plugin.registry import Registry


UNEXPLAINED: Final = "its steps cannot be explained"
"""What is said of a runbook that is not valid."""


class ExplainedStep(Struct, frozen=True, kw_only=True):
    """Everything that is known about a step before it runs; ``problem`` when its contract cannot be resolved."""

    step_id: str
    type: str
    file: str
    line: int
    description: str = ""
    detail: str = ""
    """What it does, as its type or its tool says it."""
    notes: tuple[tuple[str, str], ...] = ()
    """What its fields say about its way, each with the word it is shown under; the same word may come again."""
    contract: Contract | None = None
    origins: Mapping[str, Origin] = {}
    risk: str = ""
    risk_reason: str = ""
    outcome: str | None = None
    decision: Decision | None = None
    """None for a step with blocks: each of the steps inside it is governed."""
    violations: tuple[str, int] | None = None
    rules: tuple[RuleMatch, ...] = ()
    probe: str = ""
    """Why a probe does not execute it; empty when it does."""
    repeatable: bool = True
    """Whether an interrupted execution simply runs again."""
    conflicts: tuple[Conflict, ...] = ()
    secrets: tuple[SecretNeed, ...] = ()
    inputs: Mapping[str, Input] = {}
    reads: tuple[Read, ...] = ()
    sets: tuple[Set, ...] = ()
    problem: str = ""

    @property
    def recovery(self) -> str:
        """What a resumed run does about the step if it was interrupted: run it again, or ask what became of it."""
        return "rerun" if self.repeatable else "reconcile"

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``steps`` in ``gert explain --json``."""
        out: dict[str, object] = {
            "step_id": self.step_id,
            "type": self.type,
            "file": self.file,
            "line": self.line,
            "description": self.description,
            "detail": self.detail,
            "notes": [{"name": name, "text": text} for name, text in self.notes],
            "contract": self.contract.to_json() if self.contract is not None else None,
            "origins": {name: origin.to_json() for name, origin in self.origins.items()},
            "risk": self.risk or None,
            "risk_reason": self.risk_reason,
            "decision": self._decision(),
            "opinions": self._opinions(),
            "approvers": list(self.decision.approvers) if self.decision is not None else [],
            "probe": {"executed": not self.probe, "reason": self.probe},
            "recovery": self.recovery,
            "conflicts": [conflict.to_json() for conflict in self.conflicts],
            "secrets": [secret.to_json() for secret in self.secrets],
            "inputs": {name: given.to_json() for name, given in self.inputs.items()},
            "reads": [read.to_json() for read in self.reads],
            "sets": [one.to_json() for one in self.sets],
        }
        return out | {"problem": self.problem} if self.problem else out

    def _decision(self) -> dict[str, Any] | None:
        if self.decision is None:
            return None
        violations = "deny" if self.violations else "allow"
        found = {**self.decision.to_json(), "serialize": self.decision.serialize, "contract_violations": violations}
        return found | {"outcome": self.outcome} if self.outcome is not None else found

    def _opinions(self) -> list[dict[str, object]]:
        if self.decision is None:
            return []
        return [
            {
                **opinion.to_json(),
                "decides": (opinion.source, opinion.rule) == (self.decision.source, self.decision.rule),
                "rules": [match.to_json() for match in self.rules if match.source == opinion.source],
            }
            for opinion in self.decision.matches
        ]


def explain_steps(
    runbook: Runbook,
    policies: Policies,
    *,
    registry: Registry,
    project: Project | None,
    environ: Mapping[str, str],
    probe_effects: frozenset[str] = PROBE_EFFECTS,
) -> Iterator[ExplainedStep]:
    """Yield every step in document order, those of included runbooks behind the step that includes them.

    ``environ`` tells which secrets are there; no value of it is read.
    """
    reads: dict[str, dict[Path, tuple[Read, ...]]] = {}
    orders = Orders()
    for found in consider(runbook, policies, project):
        book = found.runbook
        if book.document.file not in reads:
            reads[book.document.file] = variables_read(book, registry=registry, project=project, environ=environ)
        yield _explain(found, reads[book.document.file], orders, environ, probe_effects)


def _explain(
    found: Considered,
    reads: Mapping[Path, tuple[Read, ...]],
    orders: Orders,
    environ: Mapping[str, str],
    probe_effects: frozenset[str],
) -> ExplainedStep:
    known, node, book = found.explained, found.node, found.runbook
    facts: dict[str, Any] = {
        "step_id": known.step_id,
        "type": known.type,
        "file": book.document.file,
        "line": known.line,
        "description": node.fields.description or "",
        "detail": without_braces(detail_of(book, node)),
        "notes": tuple(_notes(book, node)),
        "reads": reads.get(node.path, ()),
    }
    if known.contract is None:
        return ExplainedStep(**facts, problem=known.problem, repeatable=False, probe=known.problem)
    contract, governed = known.contract, known.decision is not None
    gate = book.functions.gate(node)
    level, line = risk_line(contract)
    return ExplainedStep(
        **facts,
        contract=contract,
        origins=origins(node, book, contract, governed=governed),
        risk=level,
        risk_reason=line,
        outcome=known.outcome,
        decision=known.decision,
        violations=known.violations,
        rules=found.rules,
        probe=probe_refusal(contract, probe_effects, gated=gate is not None) if governed else "",
        repeatable=contract.repeatable or not governed,
        conflicts=tuple(conflicts(node, found.contracts, orders)),
        secrets=tuple(step_secrets(book, node, environ)),
        inputs=inputs_of(node, book, contract),
        sets=tuple(sets_of(node, found.contracts)),
    )


def _notes(book: Runbook, node: StepNode) -> Iterator[tuple[str, str]]:
    """Yield what decides whether, when and how often a step and its blocks run, and what else its fields say."""
    if node.fields.when is not None:
        yield "when", as_condition(node.fields.when)
    if loop := loop_words(node):
        yield "loop", loop
    for block in (*node.blocks, *node.includes):
        if block.included is not None:
            yield "runs", block.name
        elif block.block is not None:
            yield "block", without_braces(block_words(block.block))
    if (gate := book.functions.gate(node)) is not None:
        yield from (("asks", gate.message),) if gate.message else ()
        yield "demands", gate_words(gate)
    yield from notes_of(book, node)


def find_steps(steps: Sequence[ExplainedStep], names: Sequence[str]) -> list[ExplainedStep]:
    """Return the steps of these ids, in the order of the document; raise ``UsageError`` for one that does not exist.

    A step of an included runbook is named by its whole id, such as ``stop/0/drain``, or by the last part of it.
    """
    from gert_core.api import UsageError
    from gert_core.documents.model_hints import suggest

    if not names:
        return list(steps)
    wanted: set[str] = set()
    for name in names:
        same = {step.step_id for step in steps if step.step_id == name}
        same = same or {step.step_id for step in steps if step.step_id.rpartition("/")[2] == name}
        if not same:
            known = [step.step_id for step in steps]
            hint = suggest(name, known) or f"its steps are {', '.join(known[:20])}{' ...' if len(known) > 20 else ''}"
            raise UsageError(f"the runbook has no step {name!r}", hint=hint)
        wanted |= same
    return [step for step in steps if step.step_id in wanted]


__all__ = ["UNEXPLAINED", "ExplainedStep", "explain_steps", "find_steps"]
