"""Write files from the templates that are shipped with gert, all of them or none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TEMPLATES: Final = Path(__file__).with_name("templates")
SUFFIX: Final = ".tmpl"
_WORD: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFiles:
    """Texts by the path they are going to be written to."""

    texts: Mapping[Path, str]

    def write(self) -> list[Path]:
        """Write every file; when one of them exists, refuse and write none."""
        there = [path for path in self.texts if path.exists() or path.is_symlink()]
        if there:
            more = f" and {len(there) - 1} more" if len(there) > 1 else ""
            raise UsageError(
                f"{there[0]} already exists{more}; nothing was written",
                file=str(there[0]),
                hint="choose another name or directory; gert never overwrites files",
            )
        made: list[Path] = []
        for path, text in self.texts.items():
            try:
                _write(path, text, made)
            except OSError as error:
                left = _remove(made)
                rest = f"{left[0]} is left over, remove it" if left else "nothing was written"
                message = f"cannot write {path}: {error.strerror or error}; {rest}"
                raise UsageError(message, file=str(path)) from error
        return list(self.texts)


def from_template(template: str, target: Path, names: Mapping[str, str]) -> NewFiles:
    """Return the files of a template below ``target``, with ``@name@`` replaced in their texts and paths."""
    root = TEMPLATES / template
    return NewFiles(texts={target / _fill(name, names): _fill(text, names) for name, text in _read(root)})


def word(text: str, *, what: str, example: str = "restart-web") -> str:
    """Return a name that can be a file, an id and a part of a package; refuse any other with an example."""
    if not _WORD.fullmatch(text):
        raise UsageError(
            f"{text!r} is not a valid name for a {what}",
            hint=f"use lower-case letters and digits, with `-` between words, such as {example}",
        )
    return text


def _read(root: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(root.rglob(f"*{SUFFIX}")):
        name = file.relative_to(root).as_posix().removesuffix(SUFFIX)
        yield re.sub(r"(^|/)dot-", r"\1.", name), file.read_text(encoding="utf-8")


def _fill(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"@{name}@", value)
    return text


def _write(path: Path, text: str, made: list[Path]) -> None:
    """Write a file and the directories it is in; add what did not exist before to ``made``."""
    for directory in reversed([above for above in path.parents if not above.exists()]):
        directory.mkdir()
        made.append(directory)
    with path.open("x", encoding="utf-8", newline="\n") as file:
        made.append(path)
        file.write(text)


def _remove(made: list[Path]) -> list[Path]:
    """Remove what was made, the last first; return what could not be removed."""
    left = []
    for path in reversed(made):
        try:
            path.rmdir() if path.is_dir() else path.unlink()
        except OSError:
            left.append(path)
    return left


__all__ = ["SUFFIX", "TEMPLATES", "NewFiles", "from_template", "word"]
