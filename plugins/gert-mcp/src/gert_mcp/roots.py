"""The directories that are served: a host for each, and which of them a path or a run belongs to."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, GertError, UsageError
from gert_core.hosting import Host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from gert_core.hosting import RunView
    from gert_mcp.command import ServerOptions

LIMIT: Final = 64
"""How many runs may work at once below a root."""
_LATEST: Final = "latest"
_NAMED: Final = 10
"""How many runs a message names."""
_SAID: Final = frozenset({ErrorKind.STORE_UNAVAILABLE, ErrorKind.STORE_SCHEMA})
"""Kinds of errors about all runs of a store."""


class Roots:
    """The hosts of a server, in the order of ``--root``."""

    def __init__(self, wanted: ServerOptions, environ: Mapping[str, str]) -> None:
        self.hosts = [
            Host(root, environ=environ, limit=LIMIT, store=wanted.store, allow=wanted.allow, block=wanted.block)
            for root in wanted.roots
        ]

    def __iter__(self) -> Iterator[Host]:
        """Return the hosts."""
        return iter(self.hosts)

    def locate(self, path: str) -> tuple[Host, Path]:
        """Return the host of a path, and the path without links; refuse one that does not lie below a root.

        A relative path begins at each root in turn; the first that has it counts.
        """
        found = None
        try:
            for host in self.hosts:
                real = (host.root / path).resolve()
                if not real.is_relative_to(host.root):
                    continue
                if real.exists():
                    return host, real
                found = found or (host, real)
        except (OSError, ValueError, RuntimeError):  # a loop of links, a name that no file can have
            found = None
        if found is None:
            raise UsageError(
                f"{path!a} does not lie below a directory that is served",
                kind=ErrorKind.PATH_OUTSIDE,
                hint="give a path from such a directory; gert_list_runbooks has those of runbooks",
            )
        raise UsageError(f"{path} does not exist", hint="gert_list_runbooks lists the runbooks")

    def find_run(self, run_id: str, may_see: Callable[[RunView], bool]) -> tuple[Host, RunView]:
        """Return a run and its host, by its id, the beginning of its id, or ``latest``.

        Those that may not be seen are left out: none of them is found, counted or named.
        """
        problem: GertError | None = None
        begin: list[tuple[Host, RunView]] = []
        for host in self.hosts:
            try:
                view = host.run(run_id)
                if view.run_id == run_id and may_see(view):
                    return host, view
            except GertError as error:
                if error.kind in _SAID:
                    problem = error
            seen = filter(may_see, self._beginning(host, run_id))
            begin += [(host, view) for view in islice(seen, 1 if run_id == _LATEST else _NAMED + 1)]
        if run_id == _LATEST and begin:
            return max(begin, key=lambda one: str(one[1].run_id))
        if len(begin) == 1:
            return begin[0]
        if begin:
            named = ", ".join(str(view.run_id) for _, view in begin[:_NAMED])
            raise UsageError(
                f"the ids of several runs begin with {run_id}: {named}{' and more' if len(begin) > _NAMED else ''}",
                kind=ErrorKind.RUN_ID,
                hint="give more of the id",
            )
        if problem is not None:
            raise problem
        raise UsageError(f"there is no run {run_id!a}", kind=ErrorKind.RUN_NOT_FOUND, hint="gert_runs lists the runs")

    def _beginning(self, host: Host, run_id: str) -> Iterator[RunView]:
        """Yield the runs that an id may stand for which is not complete."""
        for row in host.rows():
            if run_id == _LATEST or row.run_id.startswith(run_id):
                try:
                    yield host.run(row.run_id)
                except GertError:  # it is gone meanwhile, or no run
                    continue

    def close(self, *, leaves: float = 0.0) -> None:
        """End what runs; steps that are executed may take ``leaves`` seconds to finish first."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(self.hosts)) as pool:
            list(pool.map(lambda host: host.close(leaves=leaves), self.hosts))


def inside(file: Path, roots: Iterable[Path], whose: str, *, hint: str | None = None) -> Path:
    """Return a file without the links in its path; refuse one that does not lie below a root then."""
    try:
        found = file.resolve()
    except (OSError, RuntimeError):  # links that lead back to themselves
        found = None
    if found is not None and any(found.is_relative_to(root) for root in roots):
        return found
    raise UsageError(
        f"the file of {whose} does not lie below a directory that is served", kind=ErrorKind.PATH_OUTSIDE, hint=hint
    )


__all__ = ["LIMIT", "Roots", "inside"]
