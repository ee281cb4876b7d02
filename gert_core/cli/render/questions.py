"""Show the questions that a suspended run waits for, and the commands that answer them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from gert_core.cli.render.terminal import escape, out
from gert_core.cli.render.values import one_line
from gert_core.kit.display import readable_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DONE: Final = {"confirm": "yes", "checklist": "all"}
"""What says that everything is done; other kinds have no answer that could be suggested."""


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


def show_commands(run_id: str, questions: Sequence[Mapping[str, Any]], *, option: str) -> None:
    """Print the command that answers the questions of each step."""
    for key, asked in _by_step(questions).items():
        out(escape(f"  answer with: {answer_command(run_id, key, asked, option=option)}"))


def answer_command(run_id: str, key: str, questions: Sequence[Mapping[str, Any]], *, option: str) -> str:
    """Return the command that answers questions of a step; what only a person can say, it asks for."""
    words = ["gert", "answer", run_id, key]
    if all(question.get("kind") in _DONE for question in questions):
        words += [f"{question['name']}={_DONE[str(question.get('kind'))]}" for question in questions]
    return f"{shlex.join(words)}{option}"


def _by_step(questions: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for question in questions:
        found.setdefault(str(question["step_key"]), []).append(question)
    return found


__all__ = ["answer_command", "show_commands", "show_questions"]
