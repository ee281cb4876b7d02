"""Findings of ``gert validate`` about who approves: people and keys, groups that steps name, too few approvers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from gert_core.api import GertError
from gert_core.documents.kinds import DocumentKind
from gert_core.governance.people import GROUP, NO_PEOPLE, id_fault
from gert_core.plugin.functions import PluginFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.api import Gate, SignatureScheme
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook, StepNode
    from gert_core.documents.yaml import Document
    from gert_core.governance.enough import Circle, Shortage
    from gert_core.governance.people import People
    from gert_core.governance.policies import Policies
    from gert_core.plugin.registry import Registry
    from gert_core.validation import Validated
    from gert_core.validation.domain.report import Report

_OWN: Final = ("meta", "governance")
"""Where a runbook has the rules of its own."""
_PERSON: Final = "write the id of a person"
_TOO_FEW: Final = "approval-impossible"
_DECLARED: Final = ("people", "bridges", "groups")


def with_governance(found: Validated, *, registry: Registry, project: Project | None) -> Validated:
    """Return the result of a validation together with what a run would refuse when it combines its policies."""
    base: tuple[str, ...] = ()
    if found.kind == DocumentKind.POLICY:
        raw = found.document.value
        if not found.valid or not isinstance(raw, dict):
            return found
    elif found.runbook is not None and found.runbook.model is not None:
        raw, base = (found.document.value.get("meta") or {}).get("governance") or {}, _OWN
    else:
        return found
    declares = found.runbook is None and any(map(raw.get, _DECLARED))
    demands = found.runbook is not None and any(_demands(found.runbook))
    named = list(_named(raw.get("rules")))
    limits = _limits_approvers(raw.get("rules")) or (
        found.runbook is not None and any(gate.approvers for _, gate in _gated(found.runbook))
    )
    if not (declares or demands or named or limits):
        return found
    from gert_core.validation.domain.report import Report
    from gert_core.validation.pipeline import sorted_findings

    report = Report()
    if declares:
        _check_people(report, found.document, registry.signature_scheme)
    people: People | None = NO_PEOPLE
    if found.runbook is not None:
        people = _people_here(registry, project)
        _check_demands(report, found.runbook, people)
    elif declares:
        people = None if report.found else _own_people(found.document)
    if limits and people is not None:
        _check_enough(report, found, raw, base, people)
    for where, name, fault in named:
        message = f"rule {where[0] + 1} names {name!a}, which cannot be an approver's id: it {fault}"
        report.add("people-invalid", message, document=found.document, path=(*base, "rules", *where), hint=_PERSON)
    return replace(found, diagnostics=sorted_findings((*found.diagnostics, *report.found), found.documents))


def _named(rules: object) -> Iterator[tuple[tuple[int, str, int], str, str]]:
    """Yield what rules name as approvers that is neither an id nor a group: where in them, and why."""
    for number, rule in enumerate(rules if isinstance(rules, list) else ()):
        names = rule.get("approvers") if isinstance(rule, dict) else None
        for index, name in enumerate(names if isinstance(names, list) else ()):
            if isinstance(name, str) and not name.startswith(GROUP) and (fault := id_fault(name)) is not None:
                yield (number, "approvers", index), name, fault


def _check_people(report: Report, document: Document, schemes: Callable[[str], SignatureScheme | None]) -> None:
    """Report ids and keys of people and bridges that cannot be used, what two have in common, and wrong members."""
    from gert_core.governance.people import PeopleError, check_keys, parse_people

    whole = {kind: document.value.get(kind) or {} for kind in _DECLARED}
    faults: list[PeopleError] = []
    for kind, named in whole.items():
        for name, raw in named.items():
            try:
                check_keys(parse_people([("", {kind: {name: raw}})]), schemes)
            except PeopleError as error:
                faults.append(error)
    try:
        if not faults:
            # People in groups may be those of another policy.
            parse_people([("the policy", {**whole, "groups": {}})])
    except PeopleError as error:
        faults.append(error)
    for fault in faults:
        report.add("people-invalid", str(fault), document=document, path=fault.where)


def _own_people(document: Document) -> People | None:
    """Return the people of a policy; None where its groups have people of another one."""
    from gert_core.governance.people import PeopleError, parse_people

    try:
        return parse_people([("the policy", document.value)])
    except PeopleError:
        return None


def _people_here(registry: Registry, project: Project | None) -> People | None:
    """Return the people of the policies that apply to every runbook here; None when one of them is invalid."""
    from gert_core.governance.sources import load_policies

    try:
        return load_policies(registry=registry, project=project, files=(), runbook=None).people
    except GertError:  # an invalid policy is a finding of its own, and stops every run
        return None


def _limits_approvers(rules: object) -> bool:
    return any(isinstance(rule, dict) and rule.get("approvers") for rule in (rules if isinstance(rules, list) else ()))


def _gated(runbook: Runbook) -> Iterator[tuple[StepNode, Gate]]:
    """Yield the steps that demand an approval, with what they demand."""
    for step in runbook.by_id.values():
        if (gate := runbook.functions.gate(step)) is not None:
            yield step, gate


def _check_enough(report: Report, found: Validated, raw: Any, base: tuple[str, ...], people: People) -> None:
    """Warn about rules and steps that name too few people, as far as no other policy can add to them."""
    from gert_core.governance.enough import Circle, lacking_rules, named_too_few
    from gert_core.governance.policies import policies_of
    from gert_core.governance.sources import Source

    try:
        source = Source.parse(raw, kind="", name="", title="")
    except GertError:  # a finding already
        return
    policies = policies_of([source], digest="", people=people)
    alone = set()
    for _, rule, lack in lacking_rules(policies, complete=False):
        alone.add(rule.number)
        path = (*base, "rules", rule.number - 1, "min_approvers" if rule.min_approvers > 1 else "approvers")
        message = f"a step to which rule {rule.number} applies is never executed: {lack.message}"
        report.add(_TOO_FEW, message, document=found.document, path=path, hint=lack.hint)
    if found.runbook is None:
        return
    circle = Circle(people=people, only_keys=people.personal_keys, complete=False)
    for step, gate in _gated(found.runbook):
        few = named_too_few(gate.approvers, gate.min_approvers, circle) if gate.approvers else None
        if few is not None:
            path = (*step.path, "min_approvers" if gate.min_approvers > 1 else "approvers")
            message = f"the step is never executed: {few.message}"
            report.add(_TOO_FEW, message, document=found.runbook.document, path=path, hint=few.hint)
        elif (both := _both_too_few(found.runbook, step, gate, policies, circle)) is not None and both[0] not in alone:
            rule_number, few = both
            message = f"the step is never executed, because rule {rule_number} applies to it too: {few.message}"
            path = (*step.path, "approvers" if gate.approvers else "min_approvers")
            report.add(_TOO_FEW, message, document=found.runbook.document, path=path, hint=few.hint)


def _both_too_few(
    runbook: Runbook, step: StepNode, gate: Gate, policies: Policies, circle: Circle
) -> tuple[int, Shortage] | None:
    """Return why a step cannot get the approval that it and a rule of its runbook require together, and the rule."""
    from gert_core.contracts import Contracts
    from gert_core.governance.enough import together_too_few

    try:
        levels = Contracts(runbook).levels(step)
    except (LookupError, PluginFault):  # a finding already
        return None
    decision = policies.decide_levels(levels, gate=gate)
    found = together_too_few(decision, circle)
    return None if found is None or decision.rule is None else (decision.rule, found)


def _check_demands(report: Report, runbook: Runbook, people: People | None) -> None:
    """Report approvers in what steps demand that cannot be ids; warn about groups that no policy declares here."""
    from gert_core.governance.places import approver_fault, group_hint, unknown_group

    for step, index, name in _demands(runbook):
        if not name.startswith(GROUP) and (found := approver_fault(name, NO_PEOPLE)) is not None:
            path = (*step.path, "approvers", index)
            report.add("people-invalid", f"it names {found[0]}", document=runbook.document, path=path, hint=found[1])
    for step, index, name in _demands(runbook):
        if people is not None and (group := unknown_group(name, people)) is not None:
            report.add(
                "group-unknown",
                f"the group {group!r} is not declared by the policies here: runs are refused unless --policy names "
                "one that declares it",
                document=runbook.document,
                path=(*step.path, "approvers", index),
                hint=group_hint(group, people.groups),
            )


def _demands(runbook: Runbook) -> Iterator[tuple[StepNode, int, str]]:
    """Yield what steps themselves name that is a group or no id, with step and position; not what templates give."""
    for step in runbook.by_id.values():
        gate = runbook.functions.gate(step)
        for index, name in enumerate(() if gate is None else gate.approvers):
            if "{{" not in name and (name.startswith(GROUP) or id_fault(name) is not None):
                yield step, index, name


__all__ = ["with_governance"]
