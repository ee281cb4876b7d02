"""Find what is deprecated or has no effect in a contract of a tool, an action or a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api.diagnostics import Severity
from gert_core.documents.model_errors import diagnose

if TYPE_CHECKING:
    from gert_core.api.diagnostics import Diagnostic
    from gert_core.documents import yaml
    from gert_core.documents.contract import ContractModel
    from gert_core.documents.tree import Path as Place


def check_contract(document: yaml.Document, contract: ContractModel, path: Place) -> list[Diagnostic]:
    """Return the findings about a contract by itself."""
    return [*_side_effects(document, contract, path), *_defaults(document, contract, path)]


def _side_effects(document: yaml.Document, contract: ContractModel, path: Place) -> list[Diagnostic]:
    """Return the findings about the deprecated field ``side_effects`` of a contract."""
    if contract.side_effects is None:
        return []
    place = (*path, "side_effects")
    if contract.effects is not None:
        return [
            diagnose(
                document,
                place,
                rule="side-effects-and-effects",
                phase=2,
                message="`side_effects` and `effects` must not be used together",
                hint="remove `side_effects`",
                key=True,
            )
        ]
    instead = "`effects: [...]` and `writes: [...]`" if contract.side_effects else "`effects: []`"
    return [
        diagnose(
            document,
            place,
            rule="side-effects-deprecated",
            phase=2,
            severity=Severity.WARNING,
            message="`side_effects` is deprecated",
            hint=f"write {instead} instead",
            key=True,
        )
    ]


def _defaults(document: yaml.Document, contract: ContractModel, path: Place) -> list[Diagnostic]:
    """Return a warning for each output with a default, which takes no effect."""
    return [
        diagnose(
            document,
            (*path, "outputs", name, "default"),
            rule="not-acted-on",
            phase=2,
            severity=Severity.WARNING,
            message=f"the default of the output `{name}` is never used: an output that is missing stays missing",
            hint="remove it, and give a default where the output is read: `| default ...`",
            key=True,
        )
        for name, param in (contract.outputs or {}).items()
        if param.is_given("default")
    ]


__all__ = ["check_contract"]
