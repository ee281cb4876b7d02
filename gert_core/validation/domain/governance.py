"""Check governance rules: a default must be the last rule and match nothing, and every part must have an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.documents.governance import RuleModel
    from gert_core.documents.tree import Path
    from gert_core.documents.yaml import Document
    from gert_core.validation.domain.report import Report

_MATCHERS: Final = ("risk", "effects", "writes", "reads", "deterministic", "idempotent", "contract", "outcome")
_APPROVAL: Final = ("min_approvers", "exclude_actor", "approvers")
_DECIDES: Final = ("action", "default", "serialize")


def check_rules(report: Report, document: Document, rules: Sequence[RuleModel], *, base: Path) -> None:
    """Report misplaced defaults, and warn about parts of rules that have no effect."""
    for index, rule in enumerate(rules):
        path = (*base, index)
        if rule.default is not None:
            _default(report, document, rule, last=index == len(rules) - 1, path=path)
        _violations(report, document, rule, path=path)
        if (
            rule.action is not None
            and _is_for_every_step(rule)
            and any(o.contract_violations is None for o in rules[index + 1 :])
        ):
            report.add(
                "not-acted-on",
                "the rule matches every step, so the rules after it are never reached",
                document=document,
                path=(*path, "action"),
                key=True,
                hint="move it to the end, or write what it is for",
            )
        action = rule.action or rule.default
        approval = next((name for name in _APPROVAL if getattr(rule, name)), None)
        if approval is not None and action != "require-approval":
            report.add(
                "not-acted-on",
                f"`{approval}` has no effect in a rule "
                + ("without an action" if action is None else f"whose action is `{action}`"),
                document=document,
                path=(*path, approval),
                key=True,
                hint="remove the field"
                if rule.contract_violations is not None
                else "use `action: require-approval`, or remove the field",
            )


def _violations(report: Report, document: Document, rule: RuleModel, *, path: Path) -> None:
    """Report what a rule about contract violations cannot decide: its author believes that it does."""
    decides = next((name for name in _DECIDES if getattr(rule, name)), None)
    if rule.contract_violations is not None and decides is not None:
        report.add(
            "governance-action",
            f"a rule with `contract_violations` decides nothing before a step is executed, so it has no `{decides}`",
            document=document,
            path=(*path, decides),
            key=True,
            hint=f"write two rules with the same conditions: one with `contract_violations`, one with `{decides}`",
        )


def _matches(rule: RuleModel) -> list[str]:
    """Return the fields of a rule that say what it is for; an empty `contract` is that of every step."""
    return [name for name in _MATCHERS if _says(getattr(rule, name))]


def _is_for_every_step(rule: RuleModel) -> bool:
    """Return whether nothing that a rule matches leaves a step out; every step has one of the levels of risk."""
    fields = _matches(rule)
    if fields != ["risk"]:
        return not fields
    from gert_core.documents.governance import Risk  # there are rules, so that it is imported already

    return set(rule.risk or ()) == set(get_args(Risk))


def _says(value: object) -> bool:
    return value is not None and bool(getattr(value, "model_fields_set", True))


def _default(report: Report, document: Document, rule: RuleModel, *, last: bool, path: Path) -> None:
    place = (*path, "default")
    matchers = _matches(rule)
    if matchers:
        report.add(
            "governance-default",
            f"the default rule matches every step, so `{matchers[0]}` does not belong in it",
            document=document,
            path=place,
            key=True,
            hint="write `action` instead of `default`, or remove what it matches",
        )
    elif rule.action is not None and rule.action != rule.default:
        report.add(
            "governance-default",
            f"the rule has the default `{rule.default}` and the action `{rule.action}`",
            document=document,
            path=place,
            key=True,
            hint="keep one of them",
        )
    elif not last:
        report.add(
            "governance-default",
            "the default rule matches every step, so the rules after it are never reached",
            document=document,
            path=place,
            key=True,
            hint="move it to the end",
        )


__all__ = ["check_rules"]
