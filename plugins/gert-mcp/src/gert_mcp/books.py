"""The runbooks that are served, each as a tool: found below the roots, named, described and kept until files change."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api import ErrorKind, GertError, UsageError
from gert_mcp.exposure import Exposure, exposure_of
from gert_mcp.hints import facts_of, hints_of, leaves_of
from gert_mcp.naming import PREFIX, names_of
from gert_mcp.schemas import RESULT, inputs_schema
from gert_mcp.wording import for_agents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_types import Tool

    from gert_core.hosting import Host
    from gert_mcp.command import ServerOptions
    from gert_mcp.roots import Roots

    Stamp = tuple[int, int, int]

_BLANK: Final = re.compile(r"\s+")
_DESCRIBED: Final = 1024
_NOT_SHOWN: Final = "it is not valid; why is not shown: the runbook is opaque"


class ServedBook(Struct, kw_only=True):
    """One runbook; ``problem`` says why it is not a tool."""

    host: Host
    path: Path
    name: str = ""
    """Its ``meta.name``."""
    tool: str = ""
    """The name of its tool, when it has one."""
    problem: str = ""
    hidden: bool = False
    opaque: bool = False
    unknown: bool = False
    """Whether it is hidden because how it is served cannot be read."""
    description: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    steps: Sequence[Any] = ()
    files: frozenset[Path] = frozenset()
    """Every document that was read for it."""

    @property
    def label(self) -> str:
        """Its path from the root."""
        return self.path.relative_to(self.host.root).as_posix()

    def to_json(self) -> dict[str, object]:
        """Return an entry of ``gert_list_runbooks``."""
        out: dict[str, object] = {"name": self.name or None, "path": self.label, "root": str(self.host.root)}
        if self.problem:
            return {**out, "valid": False, "problem": self.problem}
        told = {**out, "valid": True, "tool": self.tool, "description": self.description}
        return told if self.opaque else {**told, **facts_of(self.steps)}

    def as_tool(self, modes: tuple[str, ...]) -> Tool:
        """Return the tool that runs it."""
        from mcp_types import Tool, ToolAnnotations

        found, facts = hints_of(leaves_of(self.steps)), facts_of(self.steps)
        if self.opaque:
            facts["approvals"] = [{"risk": one["risk"]} for one in facts["approvals"]]  # type: ignore[attr-defined]
        told = self.description or f"Run the runbook {self.name}."
        return Tool(
            name=self.tool,
            title=self.name,
            description=f"{told} Returns when the run ends, waits for people, or after 25 s with status running.",
            input_schema=inputs_schema(self.inputs, modes=modes),
            output_schema=RESULT,
            annotations=ToolAnnotations(
                read_only_hint=found.read_only,
                destructive_hint=found.destructive,
                idempotent_hint=found.idempotent,
                open_world_hint=found.open_world,
            ),
            _meta={"gert": {**facts, "path": self.label, "digest": self.digest}},
        )


class Books:
    """The runbooks below the roots; ``look`` reads what changed on disk."""

    def __init__(self, roots: Roots, wanted: ServerOptions) -> None:
        self._roots = roots
        self._only = wanted.only
        self._lock = threading.Lock()
        self._stamps: dict[Path, Stamp] = {}
        self._found: dict[Path, ServedBook] = {}

    def look(self) -> Mapping[Path, ServedBook]:
        """Return every runbook by its path, as it is on disk now."""
        with self._lock:
            stamps = {path: stamp for host in self._roots for path in host.documents() if (stamp := _stamp(path))}
            changed = {path for path in {*stamps, *self._stamps} if stamps.get(path) != self._stamps.get(path)}
            if changed:
                self._read(changed)
                self._stamps = stamps
            return self._found

    def served(self) -> list[ServedBook]:
        """Return the runbooks that have a tool, by its name."""
        return sorted((book for book in self.look().values() if book.tool), key=lambda book: book.tool)

    def by_tool(self, tool: str) -> ServedBook | None:
        """Return the runbook of a tool; what is hidden or not valid has none, by no name."""
        return next((book for book in self.served() if book.tool == tool), None)

    def at(self, host: Host, path: Path) -> ServedBook:
        """Return the runbook at a path, also where none are looked for; refuse one that is not served."""
        book = self.look().get(path) or self._book(host, path)
        if book.unknown:
            raise _unreadable(book.label)
        if book.hidden:
            raise not_exposed(book.label)
        return book

    def named(self, name: str) -> ServedBook:
        """Return a runbook by its name, its tool or its path; raise ``UsageError`` for one that is not served."""
        shown = [book for book in self.look().values() if not book.hidden]
        for key in ("tool", "label", "name"):
            found = [book for book in shown if name and getattr(book, key) == name]
            if len(found) == 1:
                return found[0]
            if found:
                paths = ", ".join(book.label for book in found)
                raise UsageError(f"there are several runbooks {name!r}: {paths}", hint="use the path or the tool")
        raise UsageError(f"there is no runbook {name!a} here", hint="gert_list_runbooks lists them")

    def unknown(self) -> list[str]:
        """Return the names of ``--only`` that no runbook has."""
        known = {name for book in self.look().values() for name in _names(book)} if self._only else set()
        return [name for name in self._only if name not in known]

    def serves(self, runbook_path: object) -> bool | None:
        """Return whether the runs of a runbook are shown; None for one that cannot be found any more.

        Where only some runbooks are served, one that is gone is none of them.
        """
        if not isinstance(runbook_path, str):
            return False
        book = self.of_run(Path(runbook_path))
        if book is None:
            return False if self._only else None
        return not book.hidden

    def of_run(self, path: Path) -> ServedBook | None:
        """Return the runbook that a run names by its path; None when it is not below the roots any more."""
        book = self.look().get(path)
        if book is None and path.is_file():
            real = path.resolve()
            host = next((host for host in self._roots if real.is_relative_to(host.root)), None)
            book = None if host is None else self.look().get(real) or self._book(host, real)
        return book

    def _read(self, changed: set[Path]) -> None:
        """Read the runbooks that a change can concern: those with the file; all, if the file is not a runbook."""
        runbooks = {path: host for host in self._roots for path in host.runbooks()}
        known = {path: book for path, book in self._found.items() if path in runbooks}
        if changed <= set(runbooks) | (set(self._found) - set(runbooks)):
            kept = {path: book for path, book in known.items() if not (book.files & changed)}
        else:
            kept = {}
        self._found = {path: kept.get(path) or self._book(host, path) for path, host in runbooks.items()}
        shown = [book for book in self._found.values() if not book.hidden and not book.problem]
        for book in self._found.values():
            book.tool = ""
        for book, tool in zip(shown, names_of([(book.name, book.label) for book in shown]), strict=True):
            book.tool = tool

    def _book(self, host: Host, path: Path) -> ServedBook:
        known = ServedBook(host=host, path=path, files=frozenset((path,)))
        try:
            found = host.validate(path)
        except GertError as error:
            return self._faulty(known, exposure_of(path, None), error.message)
        says = exposure_of(path, found.document)
        known.files |= {Path(one.path) for one in found.documents.values() if one.path is not None}
        known.name = found.name or ""
        if found.runbook is None or not found.valid:
            first = next((one.message for one in found.diagnostics if str(one.severity) == "error"), "not valid")
            return self._faulty(known, says, first)
        model = found.runbook.model
        known.description = _BLANK.sub(" ", model.meta.description or "").strip()[:_DESCRIBED]
        known.inputs = dict(model.meta.inputs)
        known.digest = found.runbook.document.digest
        known.opaque = says.opaque
        known.hidden = says.hidden or not self._wanted(known)
        try:
            known.steps = tuple(host.explain(path))
        except GertError as error:
            return self._faulty(known, says, error.message)
        return known

    def _faulty(self, known: ServedBook, says: Exposure, problem: str) -> ServedBook:
        """Return a runbook that is not valid; how it is served counts all the same."""
        known.hidden = says.hidden or bool(self._only)
        known.unknown = says.unknown
        known.opaque = says.opaque
        known.problem = _NOT_SHOWN if says.opaque else for_agents(problem, [host.root for host in self._roots])
        return known

    def _wanted(self, book: ServedBook) -> bool:
        return not self._only or not _names(book).isdisjoint(self._only)


def _names(book: ServedBook) -> set[str]:
    """Return how ``--only`` can name a runbook."""
    return {book.name, book.label, f"{PREFIX}{book.name}"}


def not_exposed(name: str) -> UsageError:
    """Return the refusal of a runbook that is not for agents."""
    return UsageError(
        f"{name} is not served to MCP clients", kind=ErrorKind.NOT_SERVED, hint="a person can run it with gert exec"
    )


def _unreadable(name: str) -> UsageError:
    """Return the refusal of a document that cannot be read."""
    return UsageError(
        f"{name} cannot be read, so that it is not known whether it is served to MCP clients",
        kind=ErrorKind.NOT_SERVED,
        hint="a person can see why with gert validate",
    )


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


__all__ = ["Books", "ServedBook", "not_exposed"]
