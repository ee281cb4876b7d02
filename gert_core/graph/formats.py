"""The formats of a graph by name, each imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from gert_core.graph.model import Graph

TEXT: Final = "text"
FORMATS: Final = {
    TEXT: "gert_core.graph.text:render_text",
    "mermaid": "gert_core.graph.mermaid:render_mermaid",
    "dot": "gert_core.graph.dot:render_dot",
    "svg": "gert_core.graph.svg:render_svg",
}
"""``"module:function"`` of every format."""
SUFFIXES: Final = {".txt": TEXT, ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg"}
"""The formats of files by how their names end."""


def render(graph: Graph, name: str) -> str:
    """Return a graph in one of the formats, with a line end behind it; text is 80 columns wide."""
    made: Any = load_target(FORMATS[name])(graph)
    return made if isinstance(made, str) else "".join(f"{line}\n" for line in made)


__all__ = ["FORMATS", "SUFFIXES", "TEXT", "render"]
