"""Check artifacts: their templates, and files of one step that would be kept under the same name."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from gert_core.template import compile_value
from gert_core.validation.domain.expressions import templates

if TYPE_CHECKING:
    from gert_core.documents.tree import StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.expressions import TemplateText


def check_artifact_names(ctx: Context, step: StepNode) -> None:
    """Report files of a list whose names are the same, whatever directories they are in."""
    given = step.fields.artifacts
    seen: dict[str, str] = {}
    for place, path in enumerate(given if isinstance(given, list) else ()):
        if "{" in path and not compile_value(path).static:
            continue
        other = seen.setdefault(PurePath(path).name, path)
        if other is path:
            continue
        hint = "remove one of them"
        if other != path:
            pairs = [f"{{path: {one}}}" for one in (other, path)]
            hint = f"give each a key: `artifacts: {{one: {pairs[0]}, two: {pairs[1]}}}`"
        ctx.add(
            "name-collision",
            f"`{other}` and `{path}` would both be kept as `{PurePath(path).name}`",
            path=(*step.path, "artifacts", place),
            hint=hint,
        )


def artifact_templates(step: StepNode) -> list[TemplateText]:
    """Return the templates of a step's artifacts; a schema is recorded as it is written."""
    found: list[TemplateText] = []
    given = step.raw["artifacts"]
    for place, one in given.items() if isinstance(given, dict) else enumerate(given):
        kept = {name: part for name, part in one.items() if name != "schema"} if isinstance(one, dict) else one
        templates(kept, path=(*step.path, "artifacts", place), found=found)
    return found


__all__ = ["artifact_templates", "check_artifact_names"]
