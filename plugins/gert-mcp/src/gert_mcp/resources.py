"""What clients read: runbooks, tools, scenarios, traces and runs, by names that are looked up, not used as paths."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from mcp_types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from gert_core.api import ErrorKind, UsageError
from gert_core.kit.files import read_named
from gert_mcp.replies import LIMIT, cut_text, fitting
from gert_mcp.roots import inside
from gert_mcp.scenarios import refuse_outside
from gert_mcp.tools import opaque
from gert_mcp.wording import checked_opaque

if TYPE_CHECKING:
    from pathlib import Path

    from gert_mcp.agents import Served
    from gert_mcp.callers import Caller

SCHEME: Final = "gert"
_YAML: Final = "application/yaml"
_JSON: Final = "application/json"
_LINES: Final = "application/jsonl"
TEMPLATES: Final = (
    ("gert://runbooks/{name}", "Runbook", "A runbook as written, and whether it is valid."),
    ("gert://tools/{name}", "Tool", "A tool as written, and what its actions touch."),
    ("gert://scenarios/{runbook}/{name}", "Scenario", "A scenario as written, and the result of replaying it."),
    ("gert://traces/{run_id}", "Trace", "The trace of a run, line by line."),
    ("gert://runs/{run_id}", "Run", "Where a run stands."),
)


def listed(served: Served) -> list[Resource]:
    """Return the runbooks, which are the resources that can be listed without looking at runs."""
    return [
        Resource(uri=f"gert://runbooks/{book.tool}", name=book.name, description=book.description, mime_type=_YAML)
        for book in served.books.served()
    ]


def templates() -> list[ResourceTemplate]:
    """Return the addresses of everything."""
    return [ResourceTemplate(uri_template=uri, name=name, description=told) for uri, name, told in TEMPLATES]


def read(served: Served, caller: Caller, uri: str) -> ReadResourceResult:
    """Return what an address stands for; raise ``UsageError`` for one that stands for nothing."""
    kind, names = _parts(uri)
    if kind == "runbooks" and len(names) == 1:
        return _runbook(served, uri, names[0])
    if kind == "tools" and names:
        return _tool(served, uri, "/".join(names))
    if kind == "scenarios" and len(names) == 2:
        return _scenario(served, uri, *names)
    if kind == "traces" and len(names) == 1:
        return _trace(served, caller, uri, names[0])
    if kind == "runs" and len(names) == 1:
        return _result(_data(uri, served.visible(caller, names[0])))
    known = ", ".join(uri for uri, _, _ in TEMPLATES)
    raise UsageError(f"there is no resource {uri!a}", kind=ErrorKind.NOT_SERVED, hint=f"there are {known}")


def _parts(uri: str) -> tuple[str, list[str]]:
    """Return the kind and the names in an address; names are decoded once."""
    try:
        found = urlsplit(uri)
    except ValueError:
        return "", []
    if found.scheme != SCHEME or found.query or found.fragment:
        return "", []
    return found.netloc, [unquote(name) for name in found.path.removeprefix("/").split("/") if name]


def _runbook(served: Served, uri: str, name: str) -> ReadResourceResult:
    book = served.books.named(name)
    checked = book.host.validate(book.path).to_json()
    if book.opaque:
        return _result(_data(uri, checked_opaque(checked, book.label)))
    return _result(_text(uri, _source(book.path), _YAML), _data(uri, checked))


def _tool(served: Served, uri: str, name: str) -> ReadResourceResult:
    for host in served.roots:
        for entry in host.tools():
            if entry.name == name:
                return _result(_text(uri, _source(_tool_file(served, entry)), _YAML), _data(uri, entry.to_json()))
    raise UsageError(f"there is no tool {name!a} here", kind=ErrorKind.NOT_SERVED, hint="gert_list_tools lists them")


def _tool_file(served: Served, entry: Any) -> Path:
    """Return the file of a tool; refuse one outside the roots, unless it is that of an installed pack."""
    from pathlib import Path

    file = Path(entry.file)
    if entry.pack is not None:
        return file
    hint = "gert_list_tools shows what its actions touch"
    return inside(file, [host.root for host in served.roots], f"tool {entry.name!a}", hint=hint)


def _scenario(served: Served, uri: str, runbook: str, name: str) -> ReadResourceResult:
    book = served.books.named(runbook)
    if book.opaque:
        raise opaque(book.label)
    found = {one.name: one for one in book.host.scenarios(book.path)}.get(name)
    if found is None:
        raise UsageError(f"{book.label} has no scenario {name!a}", kind=ErrorKind.NOT_SERVED)
    refuse_outside(book.host, [found.directory])
    tested = book.host.test([book.path], scenario=[name], all=True).to_json()
    return _result(_text(uri, _source(found.directory / "scenario.yaml"), _YAML), _data(uri, tested))


def _trace(served: Served, caller: Caller, uri: str, run_id: str) -> ReadResourceResult:
    host, view = served.trace(caller, run_id)
    lines: list[bytes] = []
    size = 0
    for line in host.lines(view.run_id):
        if size + len(line) > LIMIT - 300:
            told = {"cut": f"more than 1 MiB: the first {len(lines)} events are shown", "run_id": view.run_id}
            lines.append(json.dumps(told).encode() + b"\n")
            break
        size += len(line)
        lines.append(line)
    return _result(_text(uri, b"".join(lines).decode("utf-8", "replace"), _LINES))


def _source(path: Path) -> str:
    try:
        return read_named(path, most=4 * LIMIT + 1).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"cannot read {path.name}: {error.strerror or error}") from None


def _text(uri: str, text: str, mime_type: str) -> TextResourceContents:
    return TextResourceContents(uri=uri, mime_type=mime_type, text=cut_text(text))


def _data(uri: str, document: dict[str, Any]) -> TextResourceContents:
    return _text(uri, json.dumps(fitting(document), ensure_ascii=False, default=str), _JSON)


def _result(*contents: TextResourceContents) -> ReadResourceResult:
    return ReadResourceResult(contents=list(contents))


__all__ = ["TEMPLATES", "listed", "read", "templates"]
