"""Resolve ``file/PATH``: the text of a file without its last newline; without one the input gets its default."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api import InputError
from gert_core.kit.files import UnreadableError
from gert_core.kit.user_files import read_user_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import Deadline, InputBinding, Services

_LIMIT: Final = 1024 * 1024
_DATA: Final = (".yaml", ".yml", ".json")


def resolve(bindings: Sequence[InputBinding], deadline: Deadline, services: Services) -> Mapping[str, object]:
    """Return what is in the files that exist; relative paths start at the project, else at the current directory.

    A list or object from a file of YAML or JSON is read as such; everything else is its text.
    """
    del deadline
    given: dict[str, object] = {}
    root = Path() if services.project is None else services.project.root
    for binding in bindings:
        text = _read(binding, root / binding.path, own=_runs(services))
        if text is not None:
            given[binding.name] = _parsed(binding, root / binding.path, text)
    return given


def _runs(services: Services) -> Path:
    """Return the directory of the runs, whose traces and tickets cannot be inputs."""
    return (Path("runs") if services.project is None else services.project.runs_dir).resolve()


def _read(binding: InputBinding, path: Path, *, own: Path) -> str | None:
    if not binding.path:
        raise InputError(
            f"the input {binding.name!r} is `from: {binding.source}`, which has no path", hint="write file/PATH"
        )
    try:
        content = read_user_file(path, limit=_LIMIT, apart=(own,))
    except UnreadableError as error:
        raise _problem(binding, path, error.message.removeprefix(f"{error.file} ")) from None
    if content is None:
        if binding.required and not binding.has_default:
            raise _problem(binding, path, "does not exist")
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise _problem(binding, path, "is not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")


def _parsed(binding: InputBinding, path: Path, text: str) -> object:
    if binding.parse is None or binding.type not in ("list", "object") or path.suffix not in _DATA:
        return text
    try:
        return binding.parse(text)
    except ValueError as error:
        what = f"is not valid {'JSON' if path.suffix == '.json' else 'YAML'}"
        reason = "" if binding.secret else f": {error}".removesuffix(": this is not valid YAML")
        raise _problem(binding, path, f"{what}{reason}") from None


def _problem(binding: InputBinding, path: Path, what: str) -> InputError:
    return InputError(
        f"the input {binding.name!r} comes from the file {path}, which {what}",
        file=str(path),
        hint=f"correct the file, or give {binding.name!r} a value when you start the run",
    )


__all__ = ["resolve"]
