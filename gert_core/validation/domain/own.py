"""What step types find about the meaning of their own steps, put at its place in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import PluginError
from gert_core.plugin.lazy import resolve

if TYPE_CHECKING:
    from gert_core.validation.domain.context import Context


def check_own(ctx: Context) -> None:
    """Ask every step's type about the step."""
    for step in ctx.steps:
        if step.type.check is None:
            continue
        try:
            problems = list(resolve(step.type.check)(step.body))
        except PluginError:
            raise
        except Exception as error:
            raise PluginError(
                f"the step type `{step.type.name}` cannot check step `{step.id}`: {type(error).__name__}: {error}",
                hint="report it to the plugin's author, or run without the plugin",
            ) from error
        for problem in problems:
            ctx.add(
                problem.rule,
                problem.message,
                path=(*step.path, *problem.path),
                hint=problem.hint,
                severity=problem.severity,
            )


__all__ = ["check_own"]
