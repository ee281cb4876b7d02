"""Format findings as SARIF 2.1.0, which code review systems read."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from gert_core.api.diagnostics import Severity
from gert_core.validation.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.api.diagnostics import Diagnostic

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(found: Iterable[Diagnostic], *, version: str) -> dict[str, object]:
    """Return a SARIF document with one result per finding; rules are listed once, with their meaning."""
    items = list(found)
    ids = sorted({item.rule for item in items})
    driver = {
        "name": "gert",
        "semanticVersion": version,
        "rules": [_rule(rule, items) for rule in ids],
    }
    run = {
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, ids.index(item.rule)) for item in items],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [dict(tool={"driver": driver}, **run)]}


def _rule(rule: str, items: list[Diagnostic]) -> dict[str, object]:
    known = RULES.get(rule)
    meaning = known.meaning if known else next(item.message for item in items if item.rule == rule)
    severity = known.severity if known else next(item.severity for item in items if item.rule == rule)
    return {
        "id": rule,
        "shortDescription": {"text": meaning},
        "defaultConfiguration": {"level": _level(severity)},
    }


def _result(item: Diagnostic, index: int) -> dict[str, object]:
    text = f"{item.message} ({item.hint})" if item.hint else item.message
    result: dict[str, object] = {
        "ruleId": item.rule,
        "ruleIndex": index,
        "level": _level(item.severity),
        "message": {"text": text},
        "properties": {"phase": item.phase, "path": item.path},
    }
    if item.file is not None:
        location: dict[str, object] = {"artifactLocation": {"uri": _uri(item.file)}}
        if item.line is not None:
            location["region"] = {"startLine": item.line, "startColumn": item.column or 1}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _uri(file: str) -> str:
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _level(severity: Severity) -> str:
    return "error" if severity is Severity.ERROR else "warning"


__all__ = ["SCHEMA", "sarif"]
