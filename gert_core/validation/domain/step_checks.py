"""Run the checks that step types define for their own steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import PluginError
from gert_core.plugin.lazy import resolve

if TYPE_CHECKING:
    from gert_core.validation.domain.context import Context


def check_step_types(ctx: Context) -> None:
    """Run the check of every step's type and add its findings."""
    for step in ctx.steps:
        if step.type.check is None:
            continue
        try:
            findings = list(resolve(step.type.check)(step.body))
        except PluginError:
            raise
        except Exception as error:
            raise PluginError(
                f"the step type `{step.type.name}` cannot check step `{step.id}`: {type(error).__name__}: {error}",
                hint="report it to the plugin's author, or run without the plugin",
            ) from error
        for finding in findings:
            ctx.add(
                finding.rule,
                finding.message,
                path=(*step.path, *finding.path),
                hint=finding.hint,
                severity=finding.severity,
            )


__all__ = ["check_step_types"]
