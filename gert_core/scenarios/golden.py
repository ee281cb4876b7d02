"""Mark a test as golden or not: one line of ``test.yaml`` changes, and the rest stays byte for byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import DocumentError, UsageError
from gert_core.documents import yaml
from gert_core.documents.scenario import TEST_FILE, ExpectationModel
from gert_core.documents.standalone import load_strictly
from gert_core.documents.yaml import MAX_BYTES
from gert_core.kit.durable import replace_file
from gert_core.kit.files import read_file

if TYPE_CHECKING:
    from pathlib import Path

_FIELD: Final = "golden"
_BLOCK: Final = re.compile(rb"^(golden[ \t]*:[ \t]+)([A-Za-z]+)", re.MULTILINE)
_FLOW: Final = re.compile(rb"(golden\"?[ \t]*:[ \t]*)(true|false|True|False|TRUE|FALSE)\b")
_END: Final = re.compile(rb"^\.\.\.[ \t]*\r?$", re.MULTILINE)


def set_golden(directory: Path, *, golden: bool) -> bool:
    """Mark the test of a scenario; return whether that changed anything.

    Raise ``UsageError`` when there is no test, or none in which the line can be found.
    """
    file = directory / TEST_FILE
    data = read_file(file, limit=MAX_BYTES)
    if data is None:
        raise UsageError(
            f"{directory} has no {TEST_FILE}", file=str(file), hint="write what is expected of the scenario there"
        )
    before = _read(data, file)
    if before.golden is golden:
        return False
    changed = _edited(data, golden=golden, given=before.is_given(_FIELD))
    # What the edit did is read again: a file of an unusual form is left alone rather than changed in another place.
    if changed is None or _read(changed, file) != _with(before, golden=golden):
        raise UsageError(
            f"{file} has a form in which gert does not change one line",
            file=str(file),
            hint=f"write `golden: {str(golden).lower()}` there yourself",
        )
    replace_file(file, changed, mode=file.stat().st_mode & 0o777)
    return True


def _read(data: bytes, file: Path) -> ExpectationModel:
    document = yaml.loads(data, name=str(file))
    return load_strictly(file, ExpectationModel, what="test", document=document, error=DocumentError)


def _with(model: ExpectationModel, *, golden: bool) -> ExpectationModel:
    return model.model_copy(update={_FIELD: golden})


def _edited(data: bytes, *, golden: bool, given: bool) -> bytes | None:
    word = str(golden).lower().encode()
    if given:
        for pattern in (_BLOCK, _FLOW):
            if len(found := list(pattern.finditer(data))) == 1:
                (one,) = found
                return data[: one.start(2)] + word + data[one.end(2) :]
        return None
    break_ = b"\r\n" if b"\r\n" in data else b"\n"
    if _is_flow(data):
        start = data.index(b"{") + 1
        rest = data[start:].lstrip()
        return data[:start] + b"golden: " + word + (b"" if rest.startswith(b"}") else b", ") + data[start:]
    if _END.search(data) is not None:
        return None
    lead = b"" if not data or data.endswith(b"\n") else break_
    return data + lead + b"golden: " + word + break_


def _is_flow(data: bytes) -> bool:
    """Return whether the document is one map in braces."""
    lines = (line.strip() for line in data.splitlines())
    first = next((line for line in lines if line and not line.startswith((b"#", b"---", b"%"))), b"")
    return first.startswith(b"{")


__all__ = ["set_golden"]
