"""What a call is answered with: a document as JSON, at most 1 MiB, or an error that says what to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from mcp_types import CallToolResult, TextContent

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT: Final = 1024 * 1024
"""The most bytes of an answer."""
_LARGE: Final = ("events", "trace_lines", "steps", "outputs", "artifacts", "inputs", "questions", "warnings", "runs")
"""Members that are left out of an answer that is too long, in this order."""
_FAILED: Final = frozenset({"failed", "error", "cancelled"})


def answer(document: Mapping[str, Any], *, error: bool = False) -> CallToolResult:
    """Return the result of a call, as structured content and as text."""
    shown = fitting(document)
    return CallToolResult(
        content=[TextContent(text=json.dumps(shown, ensure_ascii=False, default=str))],
        structured_content=json.loads(json.dumps(shown, default=str)),
        is_error=error,
    )


def answer_run(document: Mapping[str, Any]) -> CallToolResult:
    """Return the result of a call that ran a runbook: a run that failed is an error, one that waits is not."""
    return answer(document, error=document.get("status") in _FAILED)


def refusal(error: Mapping[str, Any]) -> CallToolResult:
    """Return the result of a call that could not be done."""
    return answer({"error": error}, error=True)


def fitting(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without what makes it too long, and say what was left out."""
    shown, left = dict(document), []
    sizes = {name: _size(value) + len(name) + 6 for name, value in shown.items()}
    for name in _LARGE:
        if sum(sizes.values()) <= LIMIT - 1024:
            break
        if shown.get(name):
            shown[name] = [] if isinstance(shown[name], list) else {}
            sizes[name] = len(name) + 8
            left.append(name)
    if sum(sizes.values()) > LIMIT - 1024:
        shown = {name: value for name, value in shown.items() if isinstance(value, str) and len(value) < 1024}
        left.append("everything else that is long")
    return {**shown, "cut": f"more than 1 MiB; left out: {', '.join(left)}"} if left else shown


def cut_text(text: str) -> str:
    """Return a text of at most 1 MiB; what is cut is said in its last line."""
    data = text.encode("utf-8", "replace")
    if len(data) <= LIMIT:
        return text
    told = f"\n[cut: {len(data)} bytes, the first {LIMIT - 200} of them are shown]\n"
    return data[: LIMIT - 200].decode("utf-8", "ignore") + told


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace"))


__all__ = ["LIMIT", "answer", "answer_run", "cut_text", "fitting", "refusal"]
