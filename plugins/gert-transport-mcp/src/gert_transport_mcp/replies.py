"""Read the outputs of an action out of the result of an MCP tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_types import EmbeddedResource, ResourceLink, TextContent, TextResourceContents

from gert_core.api import Reply
from gert_core.kit.excerpts import first_line
from gert_core.kit.json_reader import loads
from gert_core.kit.wire import encode

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

    from gert_core.api import Action


_SAID: Final = 400
"""How much of an error a message shows."""


def reply_of(result: CallToolResult, action: Action, command: tuple[str, ...]) -> Reply:
    """Return the reply; an error that the tool itself reports is a failed one."""
    texts = [_text(block) for block in result.content]
    text = "\n".join(texts)
    if result.is_error:
        said = first_line(text, _SAID) if text.strip() else "it gave no reason"
        return Reply(failed=True, message=f"{command[-1]}: {said}", stderr=text, command=command, in_time=True)
    structured = result.structured_content
    if not text and structured is not None:
        text = encode(structured)
    outputs = _outputs(structured, texts, action.outputs)
    return Reply(outputs=outputs, stdout=text, command=command, in_time=True)


def _outputs(structured: object, texts: list[str], wanted: tuple[str, ...] | None) -> dict[str, object] | None:
    """Return the outputs by name: of the structured result, of a JSON object in the only text, or that text itself."""
    only = texts[0] if len(texts) == 1 else None
    for found in (structured, _object(only)):
        if not isinstance(found, dict):
            continue
        if wanted is None:
            return found
        if any(name in found for name in wanted):
            return {name: found[name] for name in wanted if name in found}
    if wanted is None:
        return None
    return {wanted[0]: only} if len(wanted) == 1 and only is not None else {}


def _object(text: str | None) -> object:
    if text is None or not text.lstrip().startswith("{"):
        return None
    try:
        return loads(text)
    except ValueError:
        return None


def _text(block: ContentBlock) -> str:
    """Return what can be read of a block; what cannot is named by its type."""
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ResourceLink):
        return str(block.uri)
    if isinstance(block, EmbeddedResource):
        inner = block.resource
        return inner.text if isinstance(inner, TextResourceContents) else f"[{inner.mime_type or 'data'}]"
    return f"[{block.mime_type}]"


__all__ = ["reply_of"]
