"""Check the rules about who is told of runs: fields that no notifier takes, and addresses that anybody can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.documents.notify import is_address, rules_of
from gert_core.plugin.kinds import NOTIFIER

if TYPE_CHECKING:
    from gert_core.documents.yaml import Document
    from gert_core.plugin.registry import Registry
    from gert_core.validation.domain.report import Report


def check_told(report: Report, document: Document, content: object, registry: Registry) -> None:
    """Report findings about the rules of a runbook or a project; ``content`` is what it says, without mistakes."""
    notifiers = registry.notifiers().values()
    takers = {key: notifier for notifier in notifiers for key in notifier.keys}
    for rule in rules_of(content):
        chosen = {takers[name].name for name in (rule.key, *rule.beside) if name in takers}
        options = {name for notifier in notifiers if notifier.name in chosen for name in notifier.options}
        if rule.key in takers:
            if is_address(rule.value):
                report.add(
                    "webhook-literal",
                    f"everybody who reads this file can read the address under `{rule.key}`, and post to it",
                    document=document,
                    path=rule.path,
                    hint=f"keep it in a variable, and write `{rule.key}: env/NAME`",
                )
        elif rule.key not in options:
            near = report.did_you_mean(rule.key, {*takers, *options})
            report.add(
                "not-acted-on",
                f"`{rule.key}` has no effect: no notifier takes it",
                document=document,
                path=rule.path,
                key=True,
                hint=near or registry.provider_hint(NOTIFIER, rule.key.partition("_")[0].lower()),
            )


__all__ = ["check_told"]
