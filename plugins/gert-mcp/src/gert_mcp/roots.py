"""The directories that are served: a host for each, and which of them a path or a run belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, GertError, UsageError
from gert_core.hosting import Host

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from gert_core.hosting import RunView
    from gert_mcp.command import ServerOptions

LIMIT: Final = 64
"""How many runs may work at once below a root."""


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
            names = ", ".join(str(host.root) for host in self.hosts)
            raise UsageError(
                f"{path!a} does not lie below a directory that is served",
                kind=ErrorKind.PATH_OUTSIDE,
                hint=f"give a path below {names}",
            )
        raise UsageError(f"{path} does not exist", hint="gert_list_runbooks lists the runbooks")

    def find_run(self, run_id: str) -> tuple[Host, RunView]:
        """Return a run and its host; raise why it cannot be found."""
        problem: GertError | None = None
        for host in self.hosts:
            try:
                return host, host.run(run_id)
            except GertError as error:
                if problem is None or error.kind != ErrorKind.RUN_NOT_FOUND:
                    problem = error
        assert problem is not None  # noqa: S101 - there is always a root
        if problem.kind == ErrorKind.RUN_NOT_FOUND:
            raise UsageError(f"there is no run {run_id!a}", kind=problem.kind, hint="gert_runs lists the runs")
        raise problem

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
