"""Read the documents of a git revision into a directory of their own, with git as the one program that is started."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import UsageError
from gert_core.api.results import StepProblem
from gert_core.engine.cancel import Deadline, Stop
from gert_core.kit.processes import call
from gert_core.secrets.environ import child_environ

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SECONDS: Final = 60.0
_LIMIT: Final = 256 * 1024 * 1024
_SUFFIXES: Final = (".yaml", ".yml")
_REGULAR: Final = ("100644", "100755")
_QUIET: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}
"""Keeps git from writing, and from asking a remote for objects: the configuration may name a program for that."""


def repository_of(file: Path) -> Path:
    """Return the top directory of the repository that a file is in."""
    top = _git(["rev-parse", "--show-toplevel"], cwd=file.resolve().parent)
    return Path(top.rstrip("\n"))


@contextmanager
def extracted(top: Path, revision: str) -> Iterator[Path]:
    """Give a directory with every YAML document of a revision; it is removed in the end."""
    _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"], cwd=top, about=revision)
    listed = _git(["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", revision], cwd=top, about=revision)
    files = dict(_documents(listed))
    with tempfile.TemporaryDirectory(prefix="gert-diff-") as made:
        root = Path(made).resolve()
        for name, data in _contents(files, top):
            _write(root / name, data, name=name, revision=revision)
        yield root


def _write(target: Path, data: bytes, *, name: str, revision: str) -> None:
    """Write a document; a tree that git itself would refuse may have names that no directory can have."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise UsageError(f"{name!r} of revision {revision!r} cannot be written: {told}") from None


def _documents(listed: str) -> Iterator[tuple[str, str]]:
    """Yield path and object of the documents in a listing of a tree."""
    for entry in listed.split("\0"):
        facts, _, name = entry.partition("\t")
        mode, _, object_ = [*facts.split(" "), "", ""][:3]
        safe = not name.startswith("/") and ".." not in name.split("/")
        if mode in _REGULAR and name.endswith(_SUFFIXES) and safe and ".git" not in name.split("/"):
            yield name, object_


def _contents(files: dict[str, str], top: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of objects, read in one go."""
    if not files:
        return
    asked = "".join(f"{object_}\n" for object_ in files.values()).encode()
    # Replies are bytes, and a result of a program is text: they are taken as they come.
    parts: list[bytes] = []
    _git(["cat-file", "--batch"], cwd=top, stdin=asked, output=parts)
    data, at = b"".join(parts), 0
    for name in files:
        end = data.find(b"\n", at)
        told = data[at:end].rpartition(b" ")[2]
        if end < 0 or not told.isdigit():  # `missing`: the repository is damaged, or a part of another one
            raise UsageError(f"{top} does not have the content of {name!r}", hint="fetch it with git, then try again")
        size = int(told)
        yield name, data[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _git(
    args: Sequence[str], *, cwd: Path, about: str | None = None, stdin: bytes = b"", output: list[bytes] | None = None
) -> str:
    def take(stream: str, data: bytes) -> None:
        if stream == "stdout" and output is not None:
            output.append(data)

    stop = Stop()
    try:
        done = call(
            ["git", *args],
            environ=child_environ(os.environ, ()) | _QUIET,
            deadline=Deadline(stop).within(_SECONDS),
            stdin=stdin,
            limit=_LIMIT,
            cwd=str(cwd),
            output=take,
        )
    except StepProblem as problem:
        raise UsageError(f"--against needs git: {problem.message}") from None
    finally:
        stop.close()
    if done.exit_code:
        if about is not None:
            raise UsageError(f"there is no revision {about!r} in {cwd}", hint="give a branch, a tag or a commit")
        told = done.stderr.strip().splitlines()
        raise UsageError(
            f"--against needs a git repository: {told[-1] if told else 'git failed'}",
            hint="leave --against out to compare with recordings and tests",
        )
    return done.stdout


__all__ = ["extracted", "repository_of"]
