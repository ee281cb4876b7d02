"""Show the questions that a suspended run waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.cli.render.terminal import escape, out
from gert_core.cli.render.values import one_line
from gert_core.kit.display import readable_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def show_questions(questions: Sequence[Mapping[str, Any]]) -> None:
    """Print each step that asks, what it is about, and its questions."""
    for key, asked in _by_step(questions).items():
        about = one_line(str(asked[0].get("instructions") or ""))
        out(escape(f"  step {readable_key(key)}{f': {about}' if about else ''}"))
        for question in asked:
            items = ", ".join(map(str, question.get("items") or ()))
            title = str(question.get("title") or "")
            named = str(question["name"]) if title in ("", question["name"]) else f"{question['name']}: {title}"
            out(escape(f"    {one_line(named)} ({question.get('kind')}{f': {items}' if items else ''})"))


def _by_step(questions: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for question in questions:
        found.setdefault(str(question["step_key"]), []).append(question)
    return found


__all__ = ["show_questions"]
