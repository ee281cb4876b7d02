"""Findings of ``gert validate`` that need more than one document: people and keys, and groups that steps name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import GertError
from gert_core.documents.kinds import DocumentKind
from gert_core.governance.people import GROUP, NO_PEOPLE, id_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.api import SignatureScheme
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook, StepNode
    from gert_core.documents.yaml import Document
    from gert_core.governance.people import People
    from gert_core.plugin.registry import Registry
    from gert_core.validation import Validated
    from gert_core.validation.domain.report import Report

_OWN: Final = ("meta", "governance")
"""Where a runbook has the rules of its own."""
_PERSON: Final = "write the id of a person"
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
    if not (declares or demands or named):
        return found
    from gert_core.validation.domain.report import Report
    from gert_core.validation.pipeline import sorted_findings

    report = Report()
    if declares:
        _check_people(report, found.document, registry.signature_scheme)
    if found.runbook is not None and demands:
        _check_demands(report, found.runbook, registry, project)
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


def _check_demands(report: Report, runbook: Runbook, registry: Registry, project: Project | None) -> None:
    """Report approvers in what steps demand that cannot be ids; warn about groups that no policy declares here."""
    from gert_core.governance.places import approver_fault, group_hint, unknown_group
    from gert_core.governance.sources import load_policies

    for step, index, name in _demands(runbook):
        if not name.startswith(GROUP) and (found := approver_fault(name, NO_PEOPLE)) is not None:
            path = (*step.path, "approvers", index)
            report.add("people-invalid", f"it names {found[0]}", document=runbook.document, path=path, hint=found[1])
    try:
        people: People = load_policies(registry=registry, project=project, files=(), runbook=None).people
    except GertError:  # an invalid policy is a finding of its own, and stops every run
        return
    for step, index, name in _demands(runbook):
        if (group := unknown_group(name, people)) is not None:
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
